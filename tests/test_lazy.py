"""Modules that stay are loaded without garbage collection, and Python's end does without it too."""

from __future__ import annotations

from tests.processes import python

BROKEN = """
import gc, sys
from featbert.lazy import load_for_good
try:
    load_for_good("featbert.nowhere")
except ModuleNotFoundError:
    print(gc.isenabled(), gc.get_freeze_count())
"""
LOADED = """
import gc, sys
from featbert.lazy import load_for_good

class Finder:
    def find_spec(self, name, *_):
        if name == "featbert.data":
            print(gc.isenabled())

sys.meta_path.insert(0, Finder())
load_for_good("featbert.data")
print("featbert.data" in sys.modules, gc.isenabled(), gc.get_freeze_count() > 1000)
gc.unfreeze()
load_for_good("featbert.data")
print(gc.get_freeze_count())
"""
ENDING = """
import atexit, gc, sys
from featbert.__main__ import main
atexit.register(lambda: print(gc.get_freeze_count() > 1000))
sys.argv = ["featbert", "--version"]
main()
"""


def test_collection_rests_while_a_module_is_loaded_and_leaves_it_out_afterwards() -> None:
    assert python(LOADED).split() == ["False", "True", "True", "True", "0"]


def test_a_module_that_is_not_there_changes_nothing() -> None:
    assert python(BROKEN).split() == ["True", "0"]


def test_as_a_command_ends_nothing_is_looked_through() -> None:
    assert python(ENDING).split()[-1] == "True"
