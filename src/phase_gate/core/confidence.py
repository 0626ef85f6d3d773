"""How sure one may be that a claim is true: points from 0 to 100, each with its reason.

Pure. What is not known gives no points and says so; it is not the same as a no.
"""

from __future__ import annotations

from phase_gate.core.claim_blocks import Said
from phase_gate.core.indicators import find_phrase
from phase_gate.values import Value
from phase_gate.workflow.settings import ConfidenceRules


class Part(Value):
    """One line of the sum."""

    name: str
    worth: int
    #: None: not known.
    met: bool | None
    reason: str

    @property
    def points(self) -> int:
        return self.worth if self.met else 0


class Measures(Value):
    """What was measured beside the words; None is unknown."""

    #: How many, where git knows; whether any, where only we do.
    files_changed: int | None = None
    files_differ: bool | None = None
    files_reason: str = ""
    task_file_moved: bool | None = None
    task_file_reason: str = ""
    tests_pass: bool | None = None
    tests_reason: str = ""


class Confidence(Value):
    parts: tuple[Part, ...]

    @property
    def score(self) -> int:
        return sum(part.points for part in self.parts)


def score_confidence(said: Said, prose: str, measures: Measures, rules: ConfidenceRules) -> Confidence:
    """Return the score by the table: 30 block, 20 complete, 15 files, 20 task file, 10 words, 5 tests."""
    filled = [block.name for block in said.blocks if not block.problems]
    word = next((each for each in rules.keywords if find_phrase(each, prose) is not None), None)
    return Confidence(
        parts=(
            Part(
                name="status block",
                worth=30,
                met=bool(filled),
                reason=", ".join(filled) if filled else "no block that is filled in: the words alone are weak",
            ),
            Part(
                name="says complete",
                worth=20,
                met=said.explicit is True,
                reason={True: "it says done", False: "it says not done", None: "nothing says done"}[said.explicit],
            ),
            Part(name="files changed", worth=15, met=measures.files_differ, reason=measures.files_reason),
            Part(
                name="task file moved",
                worth=20,
                met=measures.task_file_moved,
                reason=measures.task_file_reason,
            ),
            Part(
                name="keywords",
                worth=10,
                met=word is not None,
                reason="none of them is said, and meant" if word is None else repr(word),
            ),
            Part(name="tests pass", worth=5, met=measures.tests_pass, reason=measures.tests_reason),
        )
    )
