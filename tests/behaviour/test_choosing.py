"""Which functions are compared, and under which names their modules are imported."""

from __future__ import annotations

import pytest

from phase_gate.behaviour.choosing import choose, find_constants
from phase_gate.behaviour.places import import_folders, imported_names, module_names

OLD = "def f(n: int) -> int:\n    return n\n"
METHODS = """\
class C:
    def f(self) -> int:
        return self._g()

    def _g(self) -> int:
        return {number}
"""
NEW = "def f(n: int) -> int:\n    return 0 + n\n"


@pytest.mark.parametrize(
    ("then", "now", "chosen"),
    [
        pytest.param({"a.py": OLD}, {"a.py": OLD}, [], id="nothing-changed"),
        pytest.param({"a.py": OLD}, {"a.py": f"# A comment.\n{OLD}"}, [], id="a-comment-is-no-change"),
        pytest.param({"a.py": OLD}, {"a.py": NEW}, ["f"], id="its-own-code"),
        pytest.param({}, {"a.py": NEW}, [], id="a-new-function-has-no-past"),
        pytest.param({"a.py": OLD}, {}, [], id="one-that-is-gone-has-no-present"),
        pytest.param({"a.py": OLD}, {"b.py": NEW}, ["f"], id="moved-to-another-file"),
        pytest.param({"a.py": OLD, "c.py": OLD}, {"b.py": NEW}, [], id="moved-from-who-knows-where"),
        pytest.param(
            {"a.py": f"{OLD}\n\ndef _g(n: int) -> int:\n    return f(n)\n"},
            {"a.py": f"{NEW}\n\ndef _g(n: int) -> int:\n    return -f(n)\n"},
            ["f"],
            id="private-ones-are-seen-through-their-callers",
        ),
        pytest.param(
            {"a.py": "LIMIT = 1\n\n\ndef f(n: int) -> bool:\n    return n > LIMIT\n"},
            {"a.py": "LIMIT = 2\n\n\ndef f(n: int) -> bool:\n    return n > LIMIT\n"},
            ["f"],
            id="a-constant-that-it-names",
        ),
        pytest.param(
            {"p/a.py": OLD, "p/b.py": "from .a import f\n\n\ndef g(n: int) -> int:\n    return f(n)\n"},
            {"p/a.py": NEW, "p/b.py": "from .a import f\n\n\ndef g(n: int) -> int:\n    return f(n)\n"},
            ["f", "g"],
            id="what-it-imports-by-a-relative-name",
        ),
        pytest.param(
            {"p/a.py": OLD, "b.py": "import p.a as x\n\n\ndef g(n: int) -> int:\n    return x.f(n)\n"},
            {"p/a.py": NEW, "b.py": "import p.a as x\n\n\ndef g(n: int) -> int:\n    return x.f(n)\n"},
            ["f", "g"],
            id="what-it-finds-in-a-module",
        ),
        pytest.param(
            {"a.py": METHODS.format(number=1)},
            {"a.py": METHODS.format(number=2)},
            ["C.f"],
            id="a-method-of-its-own-class",
        ),
        pytest.param({"a.py": OLD}, {"a.py": "def f(:\n"}, [], id="a-source-that-can't-be-read"),
    ],
)
def test_what_is_chosen(then: dict[str, str], now: dict[str, str], chosen: list[str]) -> None:
    assert sorted(each.name for each in choose(then, now)) == chosen


@pytest.mark.parametrize(
    ("signature", "left_out"),
    [
        ("(n: int)", ""),
        ("(n) -> int", "n has no type hint"),
        ("(n: int, m=1)", ""),
        ("(n: int, *, m)", "m has no type hint"),
        ("(*many: int)", ""),
        ("() -> int", ""),
        ("()", "it has no type hints"),
    ],
)
def test_hints_are_needed_for_what_a_call_has_to_give(signature: str, left_out: str) -> None:
    then, now = f"def f{signature}:\n    return 1\n", f"def f{signature}:\n    return 2\n"
    assert [each.left_out for each in choose({"a.py": then}, {"a.py": now})] == [left_out]


@pytest.mark.parametrize(
    ("word", "is_meant"),
    [("f", True), ("p.a:f", True), ("a:f", True), ("src/p/a.py::f", True), ("b:f", False), ("g", False)],
)
def test_a_function_is_named(word: str, is_meant: bool) -> None:
    assert bool(choose({"src/p/a.py": OLD}, {"src/p/a.py": OLD}, [word])) is is_meant


def test_constants_of_the_function_come_first_and_docstrings_are_none() -> None:
    text = 'def f(n: int) -> str:\n    """Return 99."""\n    return "low" if n < 7 else "high"\n\n\nOTHER = 1000\n'
    own, all_of_them = find_constants(text, "f")
    assert (own.ints, own.texts) == ((6, 7, -7, 8), ("low", "high"))
    assert 1000 in all_of_them.ints
    assert 99 not in all_of_them.ints


@pytest.mark.parametrize(
    ("path", "files", "texts", "names"),
    [
        pytest.param("a.py", ["a.py"], [], ("a",), id="at-the-root"),
        pytest.param("p/a.py", ["p/__init__.py", "p/a.py"], [], ("p.a",), id="in-a-package"),
        pytest.param(
            "src/p/a.py", ["src/p/__init__.py", "src/p/a.py"], [], ("p.a", "src.p.a"), id="in-a-folder-of-sources"
        ),
        pytest.param("p/a.py", ["p/a.py"], ["from p.a import f"], ("p.a", "a"), id="a-package-without-init"),
        pytest.param("p/a.py", ["p/a.py"], ["from p import a"], ("p.a", "a"), id="imported-from-its-package"),
        pytest.param("p/a.py", ["p/a.py"], ["import a"], ("a", "p.a"), id="a-folder-that-is-no-package"),
    ],
)
def test_what_a_module_is_called(path: str, files: list[str], texts: list[str], names: tuple[str, ...]) -> None:
    assert module_names(path, files, lambda: imported_names(texts)) == names


def test_folders_that_modules_are_looked_for_in() -> None:
    assert import_folders(["src/p/__init__.py", "src/p/a.py", "tests/test_a.py", "README.md"]) == ("src", ".", "tests")
