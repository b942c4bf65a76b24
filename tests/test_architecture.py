"""The arrow of imports points one way, files stay short, and every module says what it is for."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import keat

PACKAGE = Path(keat.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 400  # lines

MATHS = {"bandwidth", "clock", "kernels", "time_encoding", "attention"}  # operations and each other alone
DATA = {"errors", "disk", "events", "datasets", "bandwidth"}
BELOW: dict[str, set[str]] = {  # what each part may import besides itself
    "errors": set(),
    "lazy": set(),
    "disk": {"errors"},
    "ops": {"lazy"},  # else torch, numpy and numba only
    **{part: MATHS | {"errors", "ops"} for part in MATHS},
    "events": {"errors", "disk", "clock"},
    "datasets": {"errors", "disk", "events", "bandwidth", "clock"},
    "state": {"errors", "events", "clock", "lazy", "ops"},
    "cooccurrence": {"errors", "events", "state", "ops"} | MATHS,
    "models": {"errors", "disk", "events", "state", "cooccurrence", "ops"} | MATHS,
    "tasks": DATA | {"state", "models"} | MATHS,
    "calibration": {"errors", "tasks"},
    "training": DATA | {"ops", "state", "models", "tasks", "calibration"} | MATHS,
    "analysis": DATA | {"state", "models"} | MATHS,
    "explain": DATA | {"state", "models", "tasks", "training", "analysis"} | MATHS,
    "report": DATA | {"models", "tasks", "calibration", "training", "analysis", "explain"} | MATHS,
    "runs": DATA
    | {"state", "models", "tasks", "calibration", "training", "analysis", "report", "explain"}
    | MATHS,
    "serve": DATA
    | {
        "ops",
        "state",
        "cooccurrence",
        "models",
        "tasks",
        "calibration",
        "training",
        "analysis",
        "report",
        "explain",
        "runs",
    }
    | MATHS,
    "patching": MATHS | {"errors"},
    "integrations": DATA | {"state", "models", "tasks"} | MATHS,
    "experiments": DATA
    | {"lazy", "ops", "state", "models", "tasks", "training", "analysis", "report", "explain", "runs"}
    | MATHS,
}
UPWARDS = {"explain/explained.py": {"report"}}  # in a notebook, an explanation shows itself as its page
DOORS = ("ops", "state")  # packages whose files nobody else imports
TOP = {"cli", "__init__", "__main__"}  # may import anything


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """Modules and names of keat that a file imports, also inside functions and for type checking only."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            if node.module == "keat":
                modules += [f"keat.{alias.name}" for alias in node.names]
            else:
                modules.append(node.module or "")
    return {module for module in modules if module.startswith("keat.")}


def imported_parts(path: Path) -> set[str]:
    return {module.split(".")[1] for module in imported_modules(path)}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_behind_a_door_is_asked_for_at_the_door(door: str) -> None:
    """Outside of the package no file inside it is imported, and no name at the door is that of a file."""
    package = import_module(f"keat.{door}")
    for file in FILES:
        inside = {module for module in imported_modules(file) if module.startswith(f"keat.{door}.")}
        assert part_of(file) == door or not inside, f"{name_of(file)} imports {', '.join(sorted(inside))}"
    assert not {file.stem for file in (PACKAGE / door).glob("*.py")} & set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_models_and_the_rest_do_not_choose_between_compiled_and_plain() -> None:
    """That is for each operation to know."""
    outside = [file for file in FILES if part_of(file) != "ops"]
    assert not [name_of(file) for file in outside if "is_compilable" in file.read_text(encoding="utf-8")]


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", [file for file in FILES if part_of(file) not in TOP], ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in BELOW, f"say in BELOW what '{part}' may import"
    forbidden = imported_parts(path) - BELOW[part] - UPWARDS.get(name_of(path), set()) - {part}
    assert not forbidden, f"{name_of(path)} imports {', '.join(sorted(forbidden))}"


def test_the_order_itself_has_no_cycle() -> None:
    """Only the mathematical modules may import each other."""
    outside = {part: below - MATHS for part, below in BELOW.items()}
    order = [*TopologicalSorter(outside).static_order()]  # or a CycleError that names the parts
    assert order.index("runs") > order.index("report") > order.index("explain") > order.index("training")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert ast.get_docstring(ast.parse(text)), f"{name_of(path)} has no docstring"
