"""Runs the cells of the tutorial notebook and writes their outputs into it.

    python -m docs.notebook

No Jupyter is needed: the last expression of a cell is shown as Jupyter shows it, a table as HTML, a
figure as PNG, and anything else as text. Runs and features go into a temporary folder.
"""

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from featbert.report.html.notebook import html

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")


def value_of(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell. Its value is that of its last expression, or its figure's."""
    *body, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return names.get("figure") if source.startswith("figure = ") else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def shown(value: Any) -> dict[str, Any]:
    """What a notebook keeps of a value, by MIME type."""
    if hasattr(value, "_repr_png_"):
        png, _ = value._repr_png_()
        return {"image/png": base64.b64encode(png).decode()}
    if type(value).__module__.startswith("featbert."):
        return {"text/html": html(value).splitlines(keepends=True), "text/plain": [repr(value)]}
    return {"text/plain": repr(value).splitlines(keepends=True)}


def main() -> None:
    """Runs every cell and writes the notebook."""
    notebook, number = json.loads(NOTEBOOK.read_text("utf-8")), 0
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                with contextlib.redirect_stdout(io.StringIO()):
                    value = value_of("".join(cell["source"]), names)
                outputs = [] if value is None else [shown(value)]
                cell["execution_count"] = number
                cell["outputs"] = [
                    {
                        "data": data,
                        "execution_count": number,
                        "metadata": {},
                        "output_type": "execute_result",
                    }
                    for data in outputs
                ]
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    NOTEBOOK.write_text(text.replace(os.path.realpath(folder), "."), "utf-8")


if __name__ == "__main__":
    main()
