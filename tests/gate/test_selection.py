"""Known tests that did not run: not selected, or no longer in the sources."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from phase_gate.gate.inventory import Inventory, TestFile, bare_name
from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.record import Audit, NamesIn, Selection, audit_selection

A = "test_a.py"


def known(*names: str, path: str = A, with_bodies: bool = True) -> Inventory:
    bodies = {bare_name(name): "body" for name in names} if with_bodies else {}
    return Inventory({path: TestFile(content="c", ids=names, bodies=bodies)})


def sources(**names: Collection[str] | None) -> NamesIn:
    """What the files define: `a=("test_x",)` is test_a.py; a file that is not given is gone."""
    return lambda path: names.get(path.removeprefix("test_").removesuffix(".py"))


def ran(*names: str, bucket: Bucket = Bucket.PASSED) -> dict[str, Bucket]:
    return {f"{A}::{name}" if name else A: bucket for name in names}


WHOLE_FILE = Selection(collected_files={A})


@pytest.mark.parametrize(
    ("known", "outcomes", "selection", "names_in", "unselected", "missing"),
    [
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x", "test_y"),
            WHOLE_FILE,
            sources(a=("test_x", "test_y")),
            [],
            [],
            id="what-ran-is-neither",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x"),
            Selection(collected_files={A}, deselected={f"{A}::test_y"}),
            sources(a=("test_x", "test_y")),
            ["test_y"],
            [],
            id="deselected-is-not-selected",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x"),
            WHOLE_FILE,
            sources(a=("test_x", "test_y")),
            ["test_y"],
            [],
            id="dropped-without-a-word-but-in-the-source-is-not-selected",
        ),
        pytest.param(
            known("test_x", "test_y"),
            {},
            Selection(),
            sources(a=("test_x", "test_y")),
            ["test_x", "test_y"],
            [],
            id="a-file-that-was-not-collected-is-not-selected",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x"),
            WHOLE_FILE,
            sources(a=("test_x",)),
            [],
            ["test_y"],
            id="a-function-that-was-deleted-is-missing",
        ),
        pytest.param(
            known("test_x"), {}, Selection(), sources(a=None), [], ["test_x"], id="a-file-that-was-deleted-is-missing"
        ),
        pytest.param(
            known("test_x", "test_y"),
            {},
            Selection(),
            sources(a=("test_x",)),
            ["test_x"],
            ["test_y"],
            id="a-deleted-function-of-a-file-that-was-not-collected-is-missing-all-the-same",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x"),
            Selection(collected_files={A}, narrowed_files={A}),
            sources(a=("test_x",)),
            [],
            ["test_y"],
            id="a-deleted-function-is-missing-even-if-another-was-asked-for-by-id",
        ),
        pytest.param(
            known("TestK::test_x"),
            {},
            WHOLE_FILE,
            sources(a=("TestOther::test_x",)),
            [],
            ["TestK::test_x"],
            id="a-renamed-class-takes-its-tests-with-it",
        ),
        # a file that could not be imported, and whose tests no source names
        pytest.param(
            known(""),
            ran("TestK::test_inherited"),
            WHOLE_FILE,
            sources(a=()),
            [],
            [],
            id="a-file-that-stood-for-inherited-tests-is-there-with-them",
        ),
        # parameter sets
        pytest.param(
            known("test_x[1]", "test_x[2]"),
            ran("test_x[1]"),
            WHOLE_FILE,
            sources(a=("test_x",)),
            [],
            ["test_x[2]"],
            id="a-shrunk-parameter-set-is-missing",
        ),
        pytest.param(
            known("test_x[1]", "test_x[2]"),
            ran("test_x[NOTSET]", bucket=Bucket.SKIPPED),
            WHOLE_FILE,
            sources(a=("test_x",)),
            [],
            ["test_x[1]", "test_x[2]"],
            id="an-emptied-parameter-set-is-missing",
        ),
        pytest.param(
            known("test_x[1]", "test_x[2]"),
            ran("test_x[1]"),
            Selection(collected_files={A}, narrowed_files={A}),
            sources(a=("test_x",)),
            ["test_x[2]"],
            [],
            id="one-parameter-asked-for-by-id-leaves-the-others-unselected",
        ),
        pytest.param(
            known("test_x[1]", "test_x[2]"),
            ran("test_x[1]"),
            Selection(collected_files={A}, deselected={f"{A}::test_x[2]"}),
            sources(a=("test_x",)),
            ["test_x[2]"],
            [],
            id="a-deselected-parameter-is-unselected",
        ),
        pytest.param(
            known("test_x[1]"),
            {},
            Selection(),
            sources(a=("test_x",)),
            ["test_x[1]"],
            [],
            id="a-parameter-of-a-file-that-was-not-collected-is-unselected",
        ),
        pytest.param(
            known("test_x[a::b]", "test_x[c]"),
            ran("test_x[c]"),
            WHOLE_FILE,
            sources(a=("test_x",)),
            [],
            ["test_x[a::b]"],
            id="colons-in-a-parameter-are-part-of-it",
        ),
        pytest.param(
            known("test_x"),
            ran("test_x[1]", "test_x[2]"),
            WHOLE_FILE,
            sources(a=("test_x",)),
            [],
            [],
            id="a-bare-id-counted-from-source-is-kept-by-any-of-its-parameters",
        ),
        pytest.param(
            known("test_x", "test_x[1]", "test_x[2]", "test_y"),
            ran("test_y"),
            Selection(collected_files={A}, deselected={f"{A}::test_x[1]", f"{A}::test_x[2]"}),
            sources(a=("test_x", "test_y")),
            ["test_x[1]", "test_x[2]"],
            [],
            id="a-bare-id-is-not-counted-beside-its-parameters",
        ),
        # modules that can't be imported
        pytest.param(
            known("test_x[1]", "test_x[2]", "test_y"),
            ran("test_x", "test_y", bucket=Bucket.UNCOLLECTABLE),
            Selection(),
            sources(a=("test_x", "test_y")),
            [],
            [],
            id="uncollectable-now-is-counted-there",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("", bucket=Bucket.UNCOLLECTABLE),
            Selection(),
            sources(a=()),
            [],
            [],
            id="a-module-that-cannot-even-be-parsed-stands-for-its-tests",
        ),
        pytest.param(
            known("test_x", "test_y"),
            ran("test_x", bucket=Bucket.UNCOLLECTABLE),
            Selection(),
            sources(a=("test_x",)),
            [],
            ["test_y"],
            id="what-a-broken-module-no-longer-defines-is-missing",
        ),
        # tests that the source does not show
        pytest.param(
            known("a.f", with_bodies=False),
            {},
            Selection(),
            sources(a=()),
            ["a.f"],
            [],
            id="a-doctest-of-a-file-that-was-not-collected-is-unselected",
        ),
        pytest.param(
            known("a.f", with_bodies=False),
            ran("a.g"),
            WHOLE_FILE,
            sources(a=()),
            [],
            ["a.f"],
            id="a-doctest-that-a-whole-collection-did-not-find-is-missing",
        ),
    ],
)
def test_audit(
    known: Inventory,
    outcomes: dict[str, Bucket],
    selection: Selection,
    names_in: NamesIn,
    unselected: list[str],
    missing: list[str],
) -> None:
    audit = audit_selection(known, outcomes, selection, names_in)
    assert audit == Audit(tuple(f"{A}::{name}" for name in unselected), tuple(f"{A}::{name}" for name in missing))


def test_only_files_in_doubt_are_read() -> None:
    both = Inventory({**known("test_x").files, **known("test_z", path="test_b.py").files})
    read: list[str] = []

    def names_in(path: str) -> Collection[str]:
        read.append(path)
        return ("test_z",)

    audit = audit_selection(both, ran("test_x"), WHOLE_FILE, names_in)
    assert (audit.unselected, read) == (("test_b.py::test_z",), ["test_b.py"])


@pytest.mark.parametrize("there", [known("test_x"), None], ids=["it-lost-a-test", "nothing-is-known-of-it"])
def test_a_file_is_passed_over_only_if_the_run_has_it_as_it_is_known(there: Inventory | None) -> None:
    before, names_in = known("test_x", "test_y"), sources(a=("test_x", "test_y"))
    assert audit_selection(before, ran("test_x"), WHOLE_FILE, names_in, there).unselected == (f"{A}::test_y",)
    assert audit_selection(before, ran("test_x", "test_y"), WHOLE_FILE, names_in, before) == Audit((), ())


def test_ids_are_sorted() -> None:
    audit = audit_selection(known("test_z", "test_b"), {}, Selection(), sources(a=("test_z", "test_b")))
    assert audit.unselected == (f"{A}::test_b", f"{A}::test_z")
