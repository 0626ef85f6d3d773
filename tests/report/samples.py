"""Stories to look at as a whole: a rich one, a hostile one, and a very long one."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import spell_out
from phase_gate.gate.measured import Finding, Table
from phase_gate.gate.record import Criteria, Criterion
from phase_gate.gate.verdict import ABSENT
from phase_gate.proof.verdicts import FunctionProof, Proof, TargetProof
from phase_gate.report.story import Happening, Run, Series, Story
from phase_gate.values import replace
from tests.report.history import History, given


def _ids(module: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/test_{module}.py::test_{name}" for name in names)


_OLD = (
    *_ids("customer", "name_is_kept", "country_is_two_letters", "vat_id_is_checked", "address_has_lines"),
    *_ids("money", "adds", "subtracts", "rounds_half_up", "never_mixes_currencies", "prints_two_digits"),
    *_ids("storage", "writes_a_row", "reads_it_back", "locks_the_table"),
)
_SKIPPED, _FLAKY = _ids("storage", "on_windows", "two_writers_at_once")
_NEW = (
    *_ids("invoice", "total_is_the_sum_of_its_lines", "tax_is_added_by_rate[7]", "tax_is_added_by_rate[19]"),
    *_ids("invoice", "a_discount_comes_before_tax", "no_lines_is_refused", "number_follows_the_last_one"),
)
_LATER = _ids("reminder", "first_after_fourteen_days", "paid_ones_get_none", "fee_from_the_second_on")

_PROOF = Proof(
    targets=(
        TargetProof(id=_LATER[0], verdict="proven", control="fails", treatment="passes", notices=("",), was_tried=True),
        TargetProof(id=_LATER[1], verdict="passes-without", control="passes", treatment="passes", why="no need for it"),
        TargetProof(id=_LATER[2], verdict="checks-nothing", control="fails", treatment="passes", was_tried=True),
    ),
    functions=(FunctionProof(file="reminder.py", name="fee", line=13),),
)


def _criteria(**texts: str) -> Criteria:
    listed = tuple(
        Criterion(id=id_.replace("_", "-"), text=text, file="criteria.md", line=line)
        for line, (id_, text) in enumerate(texts.items(), start=3)
    )
    return Criteria(count=len(listed), file="criteria.md", listed=listed)


_FIRST = {"AC_1": "An invoice adds up its lines", "AC_2": "Tax is added by the rate of each line"}
_LINKS = {test: (f"AC-{number}",) for test, number in zip(_NEW, (1, 2, 2, 3, 4, 5), strict=True)}


def build_sample() -> History:
    """Return two cycles: the first one done, the second one in GREEN, with a circuit that was open for a while."""
    history = History()
    old = {**dict.fromkeys(_OLD, "p"), _SKIPPED: "s", _FLAKY: "p"}

    def suite(new: str, names: tuple[str, ...] = _NEW, flaky: str = "p") -> dict[str, str]:
        return {**old, **dict(zip(names, new, strict=False)), _FLAKY: flaky}

    def run(phase: str, outcomes: dict[str, str], tree: str = "", done: str = "", **others: Any) -> None:
        history.run(phase, outcomes, tree=tree, signal=given(done) if done else ABSENT, **others)

    # The first cycle: RED, GREEN and REFACTOR.
    run("GREEN", old, "a")
    run("GREEN", old, "a", "the baseline is green")
    texts = {"AC_3": "A discount comes before tax", "AC_4": "No lines are refused", "AC_5": "Numbers have no gaps"}
    history.criteria, history.links = _criteria(**_FIRST, **texts), _LINKS
    run("RED", suite("ffff"), changed=("tests/test_invoice.py",))
    run("RED", suite("ffffff"), done="one test for each criterion")
    for letters in ("fffffp", "pfffpp", "pffppp", "ppppfp"):
        run("GREEN", suite(letters), changed=("invoice.py",))
    run("GREEN", suite("pppp"), unselected=14, seconds=0.4)
    run("GREEN", suite("pppppp"), "g", changed=("invoice.py", "money.py"))
    run("GREEN", suite("pppppp", flaky="f"), "g", changed=())
    run("GREEN", suite("pppppp"), "g", "all five work")
    run("GREEN", suite("pppppp"), "g", "green twice on one tree")
    for index, (points, places) in enumerate(((-41, 6), (-37, 5), (-29, 3), (-22, 1), (-18, 0))):
        evidence = {"quality_before": -41, "quality_after": points, "improvements_found": places}
        evidence["no_more_improvements_identified"] = not places
        table = Table(title="Quality", columns=("file", "findings"), rows=(("invoice.py", f"41->{-points}"),))
        outcomes = suite("pfpppp" if index == 2 else "pppppp")
        done = "" if places else "nothing is left to improve"
        run("REFACTOR", outcomes, done=done, evidence=evidence, tables=(table,), changed=("invoice.py",))
    # The second cycle, next day: the circuit opens.
    history.wait(60_000)
    old.update(dict.fromkeys(_NEW, "p"))
    texts = {"AC_6": "A reminder after fourteen days", "AC_7": "Paid ones get none", "AC_8": "There is a fee"}
    history.criteria = _criteria(**_FIRST, **texts)
    history.links = {**_LINKS, **{test: (f"AC-{number}",) for number, test in enumerate(_LATER, start=6)}}
    run("RED", suite("fff", _LATER), done="three criteria, three failing tests")
    for _ in range(5):
        run("GREEN", suite("pff", _LATER), changed=("reminder.py",))
    history.override("breaker-reset", reason="the due date is in local time", by="mara")
    run("GREEN", suite("ppf", _LATER), changed=("reminder.py", "dates.py"))
    run("GREEN", suite("ppf", _LATER), interrupted="Ctrl-C")
    run("GREEN", suite("ppp", _LATER), "z", changed=("reminder.py",))
    run("GREEN", suite("ppp", _LATER, flaky="k"), "z", changed=())
    same = Finding(slug="same-body", tier="advisory", detail="its body is the same as that of test_adds", id=_OLD[5])
    run("GREEN", suite("ppp", _LATER), "z", findings=(same,))
    history.prove(_PROOF)
    return history


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
