"""Names and words that try to get out of the place that they are put into."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import spell_out
from phase_gate.gate.criteria import Criteria, Criterion
from phase_gate.gate.findings import Finding
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.report.story.model import Story
from phase_gate.values import replace
from tests.report.history import History, given

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
