"""Stories to look at as a whole: a rich one, a hostile one, and a very long one."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import spell_out
from phase_gate.gate.criteria import Criteria, Criterion
from phase_gate.gate.measured import Finding, Table
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.report.story import Happening, Run, Series, Story
from phase_gate.values import replace
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


# --- names and words that try to get out of their place


#: By what they try.
TEXTS: dict[str, str] = {
    "ends-the-script": "</script><script>window.hacked=1</script>",
    "ends-the-style": "</style><img src=x onerror=window.hacked=1>",
    "an-image": '"><img src=x onerror="window.hacked=1">',
    "a-link": "javascript:window.hacked=1",
    "a-comment": "<!--<script>window.hacked=1",
    "a-handler": "' onmouseover='window.hacked=1",
    "an-entity": "&lt;b&gt; &#x3c;script&#x3e;",
    "svg": "<svg/onload=window.hacked=1>",
    "a-template": "${window.hacked=1} {{constructor.constructor('window.hacked=1')()}}",
    "right-to-left": "test_\u202egnp.exe\u2066",
    "nothing-at-all": "a\x00b\x07\x1b[31m\x7f\x85",
    "half-a-pair": "name-\udc80-\ud83d",
    "line-ends": "one\ntwo\r\nthree\u2028four",
    "very-long": "x" * 10_240,
    "markdown": "| `a` | [b](javascript:c) **d** <e> @everyone\n# f",
}


def build_hostile() -> Story:
    """Return a story in which every text that a stranger could have chosen is a hostile one."""
    history = History(root=TEXTS["ends-the-script"])
    names = {f"tests/test_a.py::test_x[{text}]": "f" for text in TEXTS.values()}
    names |= {f"{text}/test_b.py::test_y": "f" for text in TEXTS.values()}
    listed = tuple(
        Criterion(id=f"AC-{number}", text=text, file=text, line=number)
        for number, text in enumerate(TEXTS.values(), start=1)
    )
    history.criteria = Criteria(count=len(listed), file=TEXTS["an-image"], listed=listed)
    history.links = {test_id: (f"AC-{number}",) for number, test_id in enumerate(list(names)[: len(listed)], start=1)}
    for text in TEXTS.values():
        history.run(
            "RED",
            names,
            notes=(text,),
            changed=(text,),
            findings=(Finding(slug="odd", tier="advisory", detail=text, id=text, file=text),),
            signal=given(text, by=text, answer="not-done"),
        )
    story = history.story()
    assert story.evaluation is not None
    standing = replace(story.standing, reason=TEXTS["ends-the-script"], next_command=TEXTS["an-image"])
    return replace(story, task=TEXTS["svg"], standing=standing, proofs=_proofs())


def _proofs() -> dict[str, Any]:
    texts = list(TEXTS.values())
    targets = tuple(TargetProof(id=text, verdict="unknown", why=text) for text in texts)
    functions = tuple(FunctionProof(file=text, name=text, line=1) for text in texts)
    return {texts[0]: spell_out(Proof(targets=targets, functions=functions, problem=texts[1]))}


# --- as many runs as a task will ever have


def build_long(runs: int) -> Story:
    """Return the sample's story with this many runs, in cycles of RED, GREEN and REFACTOR."""
    phases = ["RED"] * 3 + ["GREEN"] * 20 + ["REFACTOR"] * 7
    made = []
    for index in range(runs):
        phase = phases[index % len(phases)]
        failed = 4 if phase == "RED" else max(0, 12 - index % len(phases)) if phase == "GREEN" else 0
        made.append(
            Run(
                number=index + 1,
                id=f"{index:016x}",
                at=f"2026-{1 + index // 900 % 12:02}-{1 + index // 30 % 28:02}T{index % 24:02}:{index % 60:02}:00.000Z",
                phase=phase,
                cycle=1 + index // len(phases),
                kind="complete",
                iteration=1 + index % len(phases),
                passed=400 + index // 50 - failed,
                failed=failed,
                skipped=7,
                green="not-green" if failed else "green",
                streak=0 if failed else index % 8,
                resets=index % 97 == 0,
                seconds=4 + index % 13 / 10,
                says=f"{failed} of {400 + index // 50} tests fail" if failed else "both gates are open",
                changed=(f"module_{index % 40}.py",),
                changed_count=1,
            )
        )
    happenings = tuple(
        Happening(run=run.number, at=run.at, kind="exited", text=f"{run.phase} exits") for run in made[22::30]
    )
    trend = (Series(name="Tests", unit="tests", points=tuple((run.number, float(run.total)) for run in made)),)
    return replace(build_sample().story(), runs=tuple(made), happenings=happenings[-2000:], trend=trend)
