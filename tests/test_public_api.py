"""The names of `keat`: few, all there, loaded when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

keat: Any = import_module("keat")  # more than its stub says
STUB = Path(keat.__file__).with_suffix(".pyi")


def typed_imports() -> dict[str, str]:
    """What type checkers see: name → module. In the stub, what is public is imported as itself."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
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
