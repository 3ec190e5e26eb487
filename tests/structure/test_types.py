"""Every public function and method of the code says the types of its parameters and its result."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CODE = sorted(
    path for package in ("bert_tf", "export", "serving") for path in (ROOT / package).rglob("*.py")
)


def public_functions(tree, prefix=""):
    """(Name, definition) of the functions and methods that others may call."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not node.name.startswith("_") or node.name in ("__init__", "__call__"):
                yield prefix + node.name, node


def has_all_types(function):
    """Whether parameters, but `self` and `cls`, and the result have annotations."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += filter(None, (arguments.vararg, arguments.kwarg))
    if parameters and parameters[0].arg in ("self", "cls"):
        del parameters[0]
    has_result = function.returns or function.name == "__init__"
    return bool(has_result) and all(parameter.annotation for parameter in parameters)


def untyped(text):
    """Names of the public functions of a module without complete types."""
    return [name for name, node in public_functions(ast.parse(text)) if not has_all_types(node)]


def test_public_functions_have_types():
    offenders = {str(path.relative_to(ROOT)): untyped(path.read_text()) for path in CODE}
    assert {path: names for path, names in offenders.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(a: int) -> int: ...", []),
        ("def f(a: int): ...", ["f"]),
        ("def f(a) -> int: ...", ["f"]),
        ("def f(*a, b: int) -> int: ...", ["f"]),
        ("def f(a: int, **b) -> int: ...", ["f"]),
        ("def f() -> None:\n  def g(a): ...", []),
        ("def _f(a): ...", []),
        ("class C:\n  def __init__(self, a: int): ...\n  def m(self) -> int: ...", []),
        ("class C:\n  def __init__(self, a): ...\n  def m(self): ...", ["C.__init__", "C.m"]),
        ("class C:\n  @classmethod\n  def m(cls, a: int) -> int: ...", []),
        ("class _C:\n  def m(self): ...", []),
    ],
)
def test_a_function_without_types_is_found(text, names):
    assert untyped(text) == names
