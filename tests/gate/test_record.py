"""Known tests that did not run: not selected, or no longer in the sources."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pytest

from phase_gate.gate.inventory import Inventory, TestFile, bare_name
from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.record import Document, NamesIn, audit_selection

A = "test_a.py"
#: How the session came to its tests: the file as a whole, or one test of it.
WHOLE: dict[str, Any] = {}
NARROWED = {"narrowed_files": frozenset({A})}
BROKEN: Final = "uncollectable"
SKIPPED: Final = "skipped"


def known(*names: str, path: str = A, with_bodies: bool = True) -> Inventory:
    bodies = {bare_name(name): "body" for name in names} if with_bodies else {}
    return Inventory({path: TestFile(content="c", ids=names, bodies=bodies)})


def sources(names: Collection[str] | None) -> NamesIn:
    """What the file defines; None: it is gone."""
    return lambda path: names if path == A else None


def ran(names: str, bucket: Bucket = "passed") -> dict[str, Bucket]:
    return {A if name == "FILE" else f"{A}::{name}": bucket for name in names.split()}


def without(names: str) -> dict[str, Any]:
    return {"deselected": frozenset(f"{A}::{name}" for name in names.split())}


def audit(
    known: Inventory, outcomes: dict[str, Bucket], names_in: NamesIn, there: Inventory | None = None, **selection: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    session = Document(outcomes=outcomes, exit_status=0, tally={}, duration_s=0.0, **selection)
    found = Inventory({A: TestFile(content="now", ids=())} if outcomes else {})
    return audit_selection(known, session, names_in, there or found)


@pytest.mark.parametrize(
    ("were", "are", "selection", "outcomes", "unselected", "missing"),
    [
        pytest.param("x y", "x y", WHOLE, ran("x y"), "", "", id="what-ran-is-neither"),
        pytest.param("x y", "x y", without("y"), ran("x"), "y", "", id="deselected"),
        pytest.param("x y", "x y", WHOLE, ran("x"), "y", "", id="dropped-without-a-word-but-in-the-source"),
        pytest.param("x y", "x y", WHOLE, {}, "x y", "", id="a-file-that-was-not-collected"),
        pytest.param("x y", "x", WHOLE, ran("x"), "", "y", id="a-function-that-was-deleted"),
        pytest.param("x", None, WHOLE, {}, "", "x", id="a-file-that-was-deleted"),
        # parameter sets
        pytest.param("x[1] x[2]", "x", WHOLE, ran("x[1]"), "", "x[2]", id="a-shrunk-parameter-set"),
        pytest.param("x[1] x[2]", "x", NARROWED, ran("x[1]"), "x[2]", "", id="one-asked-for-by-id"),
        pytest.param("x[a::b] x[c]", "x", WHOLE, ran("x[c]"), "", "x[a::b]", id="colons-are-part-of-a-parameter"),
        pytest.param("x", "x", WHOLE, ran("x[1] x[2]"), "", "", id="a-bare-id-is-kept-by-any-of-its-parameters"),
        pytest.param(
            "x x[1] x[2] y", "x y", without("x[1] x[2]"), ran("y"), "x[1] x[2]", "", id="and-not-counted-beside-them"
        ),
        # modules that can't be imported
        pytest.param("x[1] x[2] y", "x y", WHOLE, ran("x y", BROKEN), "", "", id="uncollectable-is-counted-there"),
        pytest.param("x y", "", WHOLE, ran("FILE", BROKEN), "", "", id="a-module-that-cannot-even-be-parsed"),
        pytest.param("x y", "x", WHOLE, ran("x", BROKEN), "", "y", id="what-a-broken-module-no-longer-defines"),
    ],
)
def test_audit(
    were: str, are: str | None, selection: dict[str, Any], outcomes: dict[str, Bucket], unselected: str, missing: str
) -> None:
    names_in = sources(None if are is None else are.split())
    left, gone = audit(known(*were.split()), outcomes, names_in, **selection)
    assert (" ".join(left), " ".join(gone)) == (" ".join(ran(unselected)), " ".join(ran(missing)))


def test_tests_that_no_source_shows() -> None:
    example, none = known("a.f", with_bodies=False), sources(())
    assert audit(example, {}, none) == ((f"{A}::a.f",), ())
    assert audit(example, ran("a.g"), none) == ((), (f"{A}::a.f",))
    # The file stood for tests that only an import shows.
    assert audit(known(""), ran("K::test_inherited"), none) == ((), ())


@pytest.mark.parametrize("there", [known("x"), None], ids=["it-lost-a-test", "nothing-is-known-of-it"])
def test_a_file_is_passed_over_only_if_the_run_has_it_as_it_is_known(there: Inventory | None) -> None:
    before, names_in = known("x", "y"), sources(("x", "y"))
    assert audit(before, ran("x"), names_in, there)[0] == (f"{A}::y",)
    assert audit(before, ran("x y"), names_in, before) == ((), ())
