"""No module uses the underscore names of another: what others need has a name without one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "unseen"
MODULES = sorted(SOURCE.rglob("*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined_names(tree: ast.Module) -> set[str]:
    """Return all names that a module defines or assigns to, attributes included."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def is_own(value: ast.expr) -> bool:
    """Whether this is self, cls or super()."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def foreign_names(source: str) -> Iterator[str]:
    """Yield each use of a private name that the module does not define."""
    tree = ast.parse(source)
    own = defined_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not is_own(node.value) and node.attr not in own:
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unseen."):
            for name in (alias.name for alias in node.names):
                # a module of the package may be private to it, its names are not
                place = SOURCE.parent.joinpath(*str(node.module).split("."), f"{name}.py")
                if is_private(name) and not place.exists():
                    yield f"line {node.lineno}: from {node.module} import {name}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_uses_underscore_names_of_another(module):
    assert list(foreign_names(module.read_text())) == []


def test_the_rule_finds_what_it_forbids():
    assert list(foreign_names("model._solve()")) == ["line 1: model._solve"]
    assert list(foreign_names("from unseen.base import _hidden")) == [
        "line 1: from unseen.base import _hidden"
    ]
    assert list(foreign_names("self._a; cls._b; super()._c; x.__doc__")) == []
    assert list(foreign_names("def _f(): ...\nother._f()")) == []
