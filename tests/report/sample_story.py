"""A rich history for pictures, and for tests that look at a page as a whole: two cycles of an invoice service."""

from __future__ import annotations

from phase_gate.gate.criteria import Criteria, Criterion
from phase_gate.gate.findings import Finding
from phase_gate.gate.measured import Table
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from tests.report.history import History, given

_OLD = {
    f"tests/test_{module}.py::test_{name}": "p"
    for module, names in {
        "customer": ("name_is_kept", "country_is_two_letters", "vat_id_is_checked", "address_has_lines"),
        "money": ("adds", "subtracts", "rounds_half_up", "never_mixes_currencies", "prints_two_digits"),
        "storage": ("writes_a_row", "reads_it_back", "locks_the_table"),
    }.items()
    for name in names
}
_SKIPPED = "tests/test_storage.py::test_on_windows"
_FLAKY = "tests/test_storage.py::test_two_writers_at_once"
_NEW = (
    "tests/test_invoice.py::test_total_is_the_sum_of_its_lines",
    "tests/test_invoice.py::test_tax_is_added_by_rate[7]",
    "tests/test_invoice.py::test_tax_is_added_by_rate[19]",
    "tests/test_invoice.py::test_a_discount_comes_before_tax",
    "tests/test_invoice.py::test_no_lines_is_refused",
    "tests/test_invoice.py::test_number_follows_the_last_one",
)
_LATER = (
    "tests/test_reminder.py::test_first_after_fourteen_days",
    "tests/test_reminder.py::test_paid_ones_get_none",
    "tests/test_reminder.py::test_fee_from_the_second_on",
)

_PROOF = Proof(
    targets=(
        TargetProof(
            id=_LATER[0],
            verdict="proven",
            control="fails",
            treatment="passes",
            notices=("reminder.py::is_due",),
            was_tried=True,
        ),
        TargetProof(
            id=_LATER[1],
            verdict="passes-without",
            control="passes",
            treatment="passes",
            why="nothing of the change is needed for it",
        ),
        TargetProof(
            id=_LATER[2],
            verdict="checks-nothing",
            control="fails",
            treatment="passes",
            was_tried=True,
            reaches=("fee",),
        ),
    ),
    functions=(FunctionProof(file="reminder.py", name="fee", line=13),),
)

_FIRST = Criteria(
    count=5,
    file="criteria.md",
    listed=(
        Criterion(id="AC-1", text="An invoice adds up its lines", file="criteria.md", line=3),
        Criterion(id="AC-2", text="Tax is added by the rate of each line", file="criteria.md", line=4),
        Criterion(id="AC-3", text="A discount is taken off before tax", file="criteria.md", line=5),
        Criterion(id="AC-4", text="An invoice without lines is refused", file="criteria.md", line=6),
        Criterion(id="AC-5", text="Numbers have no gaps", file="criteria.md", line=7),
    ),
)
_LINKS = {
    _NEW[0]: ("AC-1",),
    _NEW[1]: ("AC-2",),
    _NEW[2]: ("AC-2",),
    _NEW[3]: ("AC-3",),
    _NEW[4]: ("AC-4",),
    _NEW[5]: ("AC-5",),
}
_SECOND = Criteria(
    count=3,
    file="criteria.md",
    listed=(
        *_FIRST.listed[:2],
        Criterion(id="AC-6", text="A reminder goes out after fourteen days", file="criteria.md", line=9),
        Criterion(id="AC-7", text="Whoever has paid gets no reminder", file="criteria.md", line=10),
        Criterion(id="AC-8", text="From the second reminder on there is a fee", file="criteria.md", line=11),
    ),
)


def build_sample() -> History:
    """Return two cycles: the first one done, the second one in GREEN, with a circuit that was open for a while."""
    history = History()
    old = {**_OLD, _SKIPPED: "s", _FLAKY: "p"}

    def suite(new: str, names: tuple[str, ...] = _NEW, **others: str) -> dict[str, str]:
        return {**old, **dict(zip(names, new, strict=False)), **others}

    # RED, GREEN and REFACTOR of the first cycle.
    history.run("GREEN", old, tree="a", seconds=3.1)
    history.run("GREEN", old, tree="a", signal=given("the baseline is green"), seconds=3.0)
    history.criteria, history.links = _FIRST, _LINKS
    history.run("RED", suite("ffff"), seconds=3.4, changed=("tests/test_invoice.py",))
    history.run("RED", suite("ffffff"), seconds=3.5, signal=given("one test for each criterion"))
    for letters, points in (("fffffp", 35), ("pfffpp", 40), ("pffppp", 62), ("ppppfp", 58)):
        history.run("GREEN", suite(letters), seconds=3.4, changed=("invoice.py",))
        history.claim(points, passed=False)
    history.run("GREEN", suite("pppp"), unselected=14, seconds=0.4, pause=60)
    history.run("GREEN", suite("pppppp"), tree="g", seconds=3.6, changed=("invoice.py", "money.py"))
    history.run("GREEN", {**suite("pppppp"), _FLAKY: "f"}, tree="g", seconds=4.9, pause=40, changed=())
    history.claim(78, passed=False)
    history.run("GREEN", suite("pppppp"), tree="g", seconds=3.6, pause=50, signal=given("all five work", by="lee"))
    history.run("GREEN", suite("pppppp"), tree="g", seconds=3.5, pause=50, signal=given("green twice on one tree"))
    history.claim(91, passed=True)
    for index, (points, places) in enumerate(((-41, 6), (-37, 5), (-29, 3), (-22, 1), (-18, 0))):
        history.run(
            "REFACTOR",
            suite("pppppp") if index != 2 else suite("pfpppp"),
            seconds=3.5 - index / 10,
            pause=600,
            changed=("invoice.py",),
            evidence=_quality(points, places),
            tables=(_table(points),),
            signal=given("nothing is left to improve") if index == 4 else given("", answer="absent"),
        )
        history.claim((66, 74, 88, 90, 95)[index], passed=index != 2)
    # The second cycle, next day: it goes round in circles for a while.
    history.wait(60_000)
    old.update(dict.fromkeys(_NEW, "p"))
    history.criteria, history.links = (
        _SECOND,
        {**_LINKS, **dict(zip(_LATER, (("AC-6",), ("AC-7",), ("AC-8",)), strict=True))},
    )
    history.run("RED", suite("fff", _LATER), seconds=4.0, signal=given("three criteria, three failing tests"))
    history.claim(55, passed=False)
    for index in range(5):
        history.run("GREEN", suite("pff", _LATER), seconds=4.1, changed=("reminder.py",), messages=_stuck(index))
    history.override("breaker-reset", reason="the due date is in local time: told the agent", by="mara")
    history.run("GREEN", suite("ppf", _LATER), seconds=4.2, changed=("reminder.py", "dates.py"))
    history.run("GREEN", suite("ppf", _LATER), interrupted="Ctrl-C", seconds=1.2, pause=90)
    history.claim(72, passed=False)
    history.run("GREEN", suite("ppp", _LATER), tree="z", seconds=4.3, changed=("reminder.py",))
    history.run("GREEN", {**suite("ppp", _LATER), _FLAKY: "k"}, tree="z", seconds=6.0, pause=30, changed=())
    history.run(
        "GREEN",
        suite("ppp", _LATER),
        tree="z",
        seconds=4.3,
        pause=30,
        changed=(),
        findings=(
            Finding(
                slug="same-body",
                tier="advisory",
                detail="its body is the same as that of test_adds",
                id="tests/test_money.py::test_subtracts",
                file="tests/test_money.py",
                line=12,
            ),
        ),
    )
    history.prove(_PROOF)
    return history


def _quality(points: int, places: int) -> dict[str, int]:
    return {
        "quality_before": -41,
        "quality_after": points,
        "quality_delta": points + 41,
        "improvements_found": places,
        "no_more_improvements_identified": not places,
    }


def _table(points: int) -> Table:
    rows = (("invoice.py", f"24->{max(8, -points - 8)}", "61->40", "4->2"), ("money.py", "9", "22", "2"))
    return Table(
        title="Quality, before -> now: fewer is better", columns=("file", "cogni", "length", "nest"), rows=rows
    )


def _stuck(index: int) -> dict[str, str]:
    return {_LATER[1]: "assert [reminder] == []", _LATER[2]: "assert 0 == 5"}
