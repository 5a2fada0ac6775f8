"""Every room keeps to itself, and every function can be read at once."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from conftest import ROOT

MODULES = {str(path): ast.parse(path.read_text("utf-8")) for path in (ROOT / "src" / "unseen").rglob("*.py")}
LONGEST = 45  # lines of a function without its docstring


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names_of_others(tree: ast.Module) -> Iterator[str]:
    """Yield each private name that is imported, or used of another object and not defined here."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {ast.unparse(node.target) for node in nodes if isinstance(node, ast.AnnAssign)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if node.attr not in own and ast.unparse(node.value) not in ("self", "cls", "super()"):
                yield f"{ast.unparse(node)} in line {node.lineno}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unseen"):
            folder = ROOT.joinpath("src", *str(node.module).split("."))
            for name in filter(is_private, (alias.name for alias in node.names)):
                if not (folder / f"{name}.py").exists():  # a module may be private, its names are not
                    yield f"{node.module}.{name} in line {node.lineno}"


def test_no_module_uses_private_names_of_another():
    assert [(path, name) for path, tree in MODULES.items() for name in private_names_of_others(tree)] == []


def test_the_check_finds_what_it_looks_for():
    tree = ast.parse(
        "def _own(): ...\nself._a, super()._b, x._own, x.__c__\nother._hidden\nf(1)._more\n"
        "from unseen.methods import _dual, _gone\nfrom elsewhere import _any"
    )
    found = ["other._hidden in line 3", "f(1)._more in line 4", "unseen.methods._gone in line 5"]
    assert sorted(private_names_of_others(tree), key=lambda text: text[-1]) == found


def public_names(tree: ast.Module) -> Iterator[str]:
    """Yield each class, function and constant that other modules can import from this one."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [
            getattr(node, "name", ""),
            *(target.id for target in targets if isinstance(target, ast.Name)),
        ]
        yield from (name for name in names if len(name) > 1 and not name.startswith("_"))


def test_one_name_is_one_thing():
    """Every module of ``cli`` has its own ``command``."""
    homes = defaultdict(set)
    for path, tree in MODULES.items():
        for name in public_names(tree):
            homes[name].add(path)
    del homes["command"]
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_public_names_are_all_that_can_be_imported():
    tree = ast.parse("AA = BB = 1\ncc: int = 2\ndef dd(): ...\nclass EE: xx = 1\n_ff = T = 3\nx.y = 4")
    assert list(public_names(tree)) == ["AA", "BB", "cc", "dd", "EE"]


def test_no_function_is_long():
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                start = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0].lineno
                lines = node.body[-1].end_lineno - start + 1
                assert lines <= LONGEST, f"{node.name} in {path} has {lines} lines"
