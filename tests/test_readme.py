"""What the README and the documentation tell people to type works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import typer

import keat
from conftest import FindFile
from keat.cli import app, main
from keat.datasets.example import write_example

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
USE, UNDERSTAND = ROOT / "docs" / "use", ROOT / "docs" / "understand"
PAGES = [README, *sorted(USE.glob("*.md")), *sorted(UNDERSTAND.glob("*.md"))]
RUN_HERE = [
    *(
        USE / f"{name}.md"
        for name in ("start", "guide", "runs", "datasets", "large_logs", "parallel", "cli", "node_tasks")
    ),
    *(UNDERSTAND / f"{name}.md" for name in ("protocol", "tgn", "theory")),
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    return [line for line in lines if line.startswith("keat ")]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small matrices: two threads that share a busy machine mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the logs that the pages speak of."""
    write_example(tmp_path)
    visits = [f"{k % 7};31.01.2024 13:{k % 60:02};{k % 5};{k}.50" for k in range(60)]
    (tmp_path / "visits.txt").write_text("\n".join(visits) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def put_wiki_into(folder: Path, wikipedia: Path) -> None:
    """tgbl-wiki's raw file, but for its features, so that nothing has to be downloaded."""
    raw = folder / "tgbl-wiki" / "raw"
    raw.mkdir(parents=True)
    table = pq.read_table(wikipedia).to_pydict()
    items = [dst - 8227 for dst in table["dst"]]
    rows = zip(table["src"], items, table["t"], table["label"], strict=True)
    lines = [f"{user},{item},{time}.0,{label}" for user, item, time, label in rows]
    (raw / "tgbl-wiki_edgelist_v2.csv").write_text("user,item,time,label\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("benchmark", [False, True], ids=["own data", "benchmark"])
def test_commands_of_the_readme(benchmark: bool, workplace: Path, shared_file: FindFile) -> None:
    """All of them, in their order, as a newcomer would type them."""
    if benchmark:
        put_wiki_into(workplace / "data", shared_file("wikipedia.parquet"))
    chosen = [command for command in commands(README) if ("tgbl-wiki" in command) == benchmark]
    assert chosen
    for command in chosen:
        arguments = shlex.split(command, comments=True)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "keat", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout
        assert "note: " not in done.stderr


def test_the_readme_shows_the_example(workplace: Path) -> None:
    (shown,) = blocks(README, "csv")
    assert (workplace / "orders.csv").read_text(encoding="utf-8").startswith(shown)


@pytest.mark.usefixtures("workplace")
def test_python_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(README, "python")
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert re.search(r"source +destination +rank +score +share", said)
    assert len(re.findall(r"^\d +C-037 ", said, re.M)) == 3
    again = keat.open("runs/orders")
    assert again.events_seen == 6_000


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.stem)
def test_commands_of_the_documentation(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in commands(page):
        monkeypatch.setattr(sys, "argv", shlex.split(command, comments=True))
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert not end.value.code, f"{command}: {said.err}"
        assert said.out


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.stem)
def test_python_of_the_documentation(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}  # the blocks of a page go on from each other
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)
    assert bool(capsys.readouterr().out) == bool(names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_can_be_typed(page: Path) -> None:
    """Those that take long, too: verbs, options and values are known, whether or not they are run here."""
    verbs = typer.main.get_command(app)
    shown = [
        line
        for language in ("bash", "sh", "text")
        for block in blocks(page, language)
        for line in block.splitlines()
    ]
    for line in shown:
        if not line.startswith("keat "):
            continue
        words = shlex.split(line, comments=True)[1:]
        command: Any = verbs
        context = None
        while hasattr(command, "commands"):
            context, command = typer.Context(command, parent=context), command.commands[words.pop(0)]
        assert command.make_context(line, words, parent=context).params


def test_make_knows_the_two_commands() -> None:
    said = [
        line for block in blocks(README, "bash") for line in block.splitlines() if line.startswith("make ")
    ]
    targets = [shlex.split(line, comments=True)[1] for line in said]
    assert targets == ["run", "test"]
    make = shutil.which("make") or pytest.skip("make is not installed")
    for target in targets:
        subprocess.run([make, "-n", target], cwd=ROOT, capture_output=True, check=True)


@pytest.mark.parametrize("model", ["edgebank", "edgebank-tw", "poptrack", "global-recency", "local-global"])
def test_the_table_says_what_is_measured(model: str, shared_file: FindFile) -> None:
    """The columns at refresh 200; those at 1 take minutes for all models."""
    row = next(line for line in README.read_text(encoding="utf-8").splitlines() if f"| `{model}`" in line)
    val, test = (float(cell) for cell in row.split("|")[2:4])
    data = keat.load(str(shared_file("wikipedia.parquet")))
    built = keat.create_link_model(model, data.train)
    assert keat.evaluate(built, keat.make_task(data, "val")).metrics["mrr"] == pytest.approx(val, abs=5e-5)
    assert keat.evaluate(built, keat.make_task(data, "test")).metrics["mrr"] == pytest.approx(test, abs=5e-5)
