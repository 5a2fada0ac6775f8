"""Every room keeps to itself, and every function can be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from conftest import ROOT

MODULES = {str(path): ast.parse(path.read_text("utf-8")) for path in (ROOT / "src" / "unseen").rglob("*.py")}
LONGEST = 45  # lines of a function without its docstring


def private_names_of_others(tree: ast.Module) -> Iterator[str]:
    """Yield every ``x._name`` where x is not self, cls or super() and the module does not define the name."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {ast.unparse(node.target) for node in nodes if isinstance(node, ast.AnnAssign)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = ast.unparse(node.value)
            if node.attr not in own and owner not in ("self", "cls", "super()"):
                yield f"{owner}.{node.attr} in line {node.lineno}"


def test_no_module_uses_private_names_of_another():
    assert [(path, name) for path, tree in MODULES.items() for name in private_names_of_others(tree)] == []


def test_the_check_finds_what_it_looks_for():
    tree = ast.parse("def _own(): ...\nself._a, super()._b, x._own, x.__c__\nother._hidden\nf(1)._more")
    assert list(private_names_of_others(tree)) == ["other._hidden in line 3", "f(1)._more in line 4"]


def test_no_function_is_long():
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                start = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0].lineno
                lines = node.body[-1].end_lineno - start + 1
                assert lines <= LONGEST, f"{node.name} in {path} has {lines} lines"
