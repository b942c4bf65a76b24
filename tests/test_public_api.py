"""The names of `keat`: few, all there, loaded when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import keat

SOURCE = Path(keat.__file__)


def typed_imports() -> dict[str, str]:
    """What type checkers see: name → module, from the block under ``if TYPE_CHECKING:``."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    blocks = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("name", keat.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(keat, name)
    assert value.__doc__
    assert value is getattr(import_module(keat._HOME[name]), name)


def test_the_lazy_table_is_what_type_checkers_see() -> None:
    assert typed_imports() == keat._HOME
    assert sorted(keat.__all__) == sorted(keat._HOME)
    assert len(set(keat.__all__)) == len(keat.__all__)


def test_dir_shows_the_public_names() -> None:
    assert set(keat.__all__) <= set(dir(keat))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'keat' has no attribute 'trian'"):
        _ = keat.trian


def test_importing_keat_is_light() -> None:
    code = "import sys, keat; print(sorted({'torch', 'numpy', 'pyarrow', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
