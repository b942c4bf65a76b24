"""Which code decided the numbers of a run: digests of the sources that it went through.

A version of the package or a commit says too little (both stay while a working tree changes) and too much
(a commit that mends a page is another). A digest of the sources themselves, without comments and docstrings,
changes when and only when a line changes that could change a number. There are two of them: `protocol`, of
how a task is made, taught and scored, which all models share, and `model`, of everything the model imports.
See docs/decisions/0014-a-result-names-its-code.md.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import keat
from keat.lazy import listed_names

SOURCES = Path(keat.__file__).parent.parent
DOORS = ("keat.ops", "keat.state")  # their names are at home in the files that their stubs list

# Parts of keat whose files can decide a number. Others read files (what was read is in the fingerprint of the
# data), keep runs, draw pages or speak to people.
OF_MODELS = frozenset(
    "models state ops cooccurrence attention kernels time_encoding bandwidth clock".split()  # noqa: SIM905
)
OF_TASKS = frozenset(("tasks", "training"))
# Of these files only some definitions decide numbers; the rest are tables of names, or files and folders.
PIECES: Mapping[str, tuple[str, ...]] = {
    "keat.models.registry": ("build_model", "build_graph_model", "assemble", "add_head", "trains_in_turn"),
    "keat.runs.run_model": ("train_run", "_fresh_model", "_node_model", "_lessons"),
    "keat.runs.run_evaluation": ("evaluate_run", "usual_refresh_of", "heuristic"),
}
SHARED = ("keat.training.evaluate", "keat.training.fit", "keat.events.splitting", "keat.bandwidth")
ROOTS: Mapping[str, tuple[str, ...]] = {  # of the protocol, by the first word of a kind of task
    "link": (*SHARED, "keat.training.lessons", "keat.tasks.task_factory"),
    "graph": (*SHARED, "keat.training.graph_lessons", "keat.tasks.graph_label"),
    "edge": (*SHARED, "keat.training.node_tasks", "keat.models.node_head", "keat.tasks.task_factory"),
    "node": (*SHARED, "keat.training.node_tasks", "keat.models.node_head", "keat.tasks.task_factory"),
}
NOT_OF_LINKS = frozenset(  # the factory of tasks imports them, and links do not go through them
    (
        "keat.tasks.event_task",
        "keat.tasks.node_label",
        "keat.tasks.node_property",
        "keat.tasks.edge_attribute",
        "keat.tasks.attribute_source",
    )
)


@dataclass(frozen=True, slots=True)
class Code:
    """The digests of one run. `protocol` has to be that of every run beside it, `model` that of every run of
    the same class of models."""

    protocol: str
    model: str

    def __str__(self) -> str:
        return f"{self.protocol}/{self.model}"


@cache
def code_of(model_files: tuple[str, ...], kind: str, sources: Path = SOURCES) -> Code:
    """Of a model that is at home in these modules, asked a kind of task. ``sources`` is the folder that has
    the package, for a look at those of another commit."""
    task = kind.split("-")[0]
    skipped = NOT_OF_LINKS if task == "link" else frozenset[str]()
    protocol = closure(ROOTS[task], OF_TASKS, sources) - skipped
    return Code(
        digest([*protocol, *PIECES], sources),
        digest(closure(model_files, OF_MODELS, sources), sources),
    )


def closure(roots: Iterable[str], parts: frozenset[str], sources: Path = SOURCES) -> set[str]:
    """The roots and all modules they import, as far as these belong to the given parts of keat."""
    found, waiting = set[str](), list(roots)
    while waiting:
        module = waiting.pop()
        if module in found or module in PIECES or module not in _texts(sources):
            continue
        found.add(module)
        waiting += [each for each in _imports(module, sources) if each.split(".")[1] in parts]
    return found


def digest(modules: Iterable[str], sources: Path = SOURCES) -> str:
    """Of what the modules do: comments, docstrings and the layout of lines are no part of it."""
    summed = hashlib.blake2b(digest_size=6)
    for module in sorted(set(modules)):
        tree = _tree(module, sources)
        kept = PIECES.get(module)
        body = [node for node in tree.body if kept is None or getattr(node, "name", None) in kept]
        summed.update(f"{module}\n{ast.unparse(ast.Module(body, []))}\n".encode())
    return summed.hexdigest()


def _imports(module: str, sources: Path) -> Iterator[str]:
    """Modules of keat that a module imports when it runs, a name at a door from where it is at home."""
    for node in _run_nodes(_tree(module, sources)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("keat."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "keat":
            home = str(node.module)
            for alias in node.names:
                if home in DOORS:
                    yield _listed(home, sources)[alias.name]
                else:
                    inner = f"{home}.{alias.name}"
                    yield inner if inner in _texts(sources) else home


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _run_nodes(node)


@cache
def _tree(module: str, sources: Path) -> ast.Module:
    tree = ast.parse(_texts(sources)[module])
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


@cache
def _listed(door: str, sources: Path) -> dict[str, str]:
    return listed_names(str(sources.joinpath(*door.split("."), "__init__.py")))


@cache
def _texts(sources: Path) -> dict[str, str]:
    """All modules of keat, a package by its own name."""
    return {
        ".".join(file.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): file.read_text(
            encoding="utf-8"
        )
        for file in (sources / "keat").rglob("*.py")
    }


_texts(SOURCES)  # read now: a file that is changed while a run is under way does not decide its numbers
