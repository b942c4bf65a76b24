"""The names of `keat`: few, all there, loaded when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import keat

STUB = Path(keat.__file__).with_suffix(".pyi")
AT_RUN_TIME = vars(keat)  # type checkers see the stub instead
NAMES: list[str] = AT_RUN_TIME["__all__"]
HOME: dict[str, str] = AT_RUN_TIME["_HOME"]


def typed_imports() -> dict[str, str]:
    """What type checkers see: name → module, of the stub, where a public name is imported as itself."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(keat, name)
    assert value.__doc__
    assert value is getattr(import_module(HOME[name]), name)


def test_what_is_loaded_is_what_type_checkers_see() -> None:
    assert typed_imports() == HOME
    assert sorted(HOME) == NAMES


def test_dir_shows_the_public_names() -> None:
    assert set(NAMES) <= set(dir(keat))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'keat' has no attribute 'trian'"):
        getattr(keat, "trian")  # noqa: B009


def test_importing_keat_is_light() -> None:
    code = "import sys, keat; print(sorted({'torch', 'numpy', 'pyarrow', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
