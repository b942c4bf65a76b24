"""The examples run as they are, and the notebook too."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOK = EXAMPLES / "first_steps.ipynb"
LONGEST = 60  # lines

SAID = {  # what the last lines say, with whatever numbers
    "fraud_alerts": r"\d+ of \d+ frauds among 100 alerts",
    "kernel_in_your_model": r"forget within \d+\.\d days",
    "rank_for_a_shop": r"mailing\.csv",
    "study_of_your_own": r"laplacian - identity: [+-]0\.\d+",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an empty folder, and on one thread: matrices are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "torch_geometric" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch_geometric")
    runpy.run_path(str(script), run_name="__main__")
    assert re.search(SAID[script.stem], capsys.readouterr().out)


def code_of_the_notebook() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def shown_by(code: str, names: dict[str, object]) -> object:
    """Run a cell, and give what a notebook would show: the value of its last line."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        return None
    tree.body.pop()
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    shown: object = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
    return shown


def test_the_notebook_runs() -> None:
    if importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"):
        import nbclient
        import nbformat

        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbclient.NotebookClient(notebook, timeout=300).execute()
        return
    names: dict[str, object] = {}
    shown = [shown_by(code, names) for code in code_of_the_notebook()]
    pages = [thing._repr_html_() for thing in shown if hasattr(thing, "_repr_html_")]
    assert len(pages) >= 4  # the data, the run, an answer, an explanation


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_is_short_and_explained(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert ast.get_docstring(ast.parse(text))
    assert len(re.findall(r"^# ", text, re.MULTILINE)) >= 2


def test_the_notebook_is_short_and_holds_no_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert sum(len(cell["source"]) for cell in cells) <= LONGEST
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
