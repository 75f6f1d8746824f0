"""Options made from sections of the configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from featbert.cli.options import options
from featbert.config import Section


class Colours(Section):
    task: str = Field("entities", description="What is asked of the text.")
    hue: Literal["red", "blue"] = Field("red", description="Which colour.")
    depth: int | None = Field(None, ge=1, le=9, description="How deep.")
    share: float = Field(0.5, gt=0, description="How much.")
    column: int | str | None = Field(None, description="Which column.")
    bright: bool = Field(True, description="Whether it shines.")
    secret: str = Field("s", description="No option.")


app = typer.Typer(rich_markup_mode=None)
GIVEN: list[dict[str, Any]] = []


@app.command()
@options(Colours, without=["secret"], defaults={"share": 0.7})
def paint(
    wall: Annotated[str, typer.Argument()],
    given: dict[str, Any],
    coats: Annotated[int, typer.Option("--coats")] = 2,
) -> None:
    GIVEN.append({"wall": wall, "coats": coats} | given)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("north", {}),
        ("north --depth 3 --hue blue", {"depth": 3, "hue": "blue"}),
        ("north --column 2 --share 0.1", {"column": 2, "share": 0.1}),
        ("north --column words --no-bright", {"column": "words", "bright": False}),
        ("north --bright --task labels", {"bright": True, "task": "labels"}),
    ],
)
def test_only_what_was_given_is_passed_on_with_its_type(words: str, given: dict[str, Any]) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 0, done.output
    assert GIVEN.pop() == {"wall": "north", "coats": 2} | given


@pytest.mark.parametrize(
    "words", ["--depth 0", "--depth 10", "--hue green", "--share much", "--secret x"]
)
def test_values_out_of_range_are_wrong_usage(words: str) -> None:
    assert CliRunner().invoke(app, ["north", *words.split()]).exit_code == 2
    assert not GIVEN


def test_the_help_comes_from_the_fields() -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())
    for part in ("How deep.", "[default: 0.7]", "<red|blue>", "--no-bright", "entities", "1<=x<=9"):
        assert part in text, part
    assert "secret" not in text
