"""The settings that a run without a settings file does not load: changes to the workflow, and sections for commands.

The options of a field other than its default are for the reader of the file, `config.reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from phase_gate.values import Literal, Value, field
from phase_gate.workflow.metrics import MetricType, MetricValue
from phase_gate.workflow.model import Guard, Limits
from phase_gate.workflow.settings import Configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

#: What an agent has to finish before it may stop.
Until = Literal["cycle", "phase"]

#: Who gives the signal of Gate 2 in a drive: the user, who is asked, or the agent.
DriveSignal = Literal["ask", "agent"]

#: The time limit of each step of a verify task, in seconds, and the maximum that a task may set.
DEFAULT_TIMEOUTS: Mapping[str, float] = {"executor": 300.0, "verify": 120.0, "review": 180.0}
MAX_TIMEOUTS: Mapping[str, float] = {"executor": 900.0, "verify": 300.0, "review": 600.0}
#: The time limit of all three steps together, in seconds.
GATE_TIMEOUT = 1800.0


class Section(Value):
    """A part of the settings."""

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        """Return the section of a project's settings, or the default one."""
        found = configuration.sections.get(cls)
        return found if isinstance(found, cls) else cls()


class EvidenceChecks(Value):
    """Which measurements count as signs of completion."""

    tests: bool = True
    build: bool = False
    acceptance_criteria: bool = True
    clean_git: bool = False


class ExitGate(Section):
    """When a claim of completion passes."""

    enabled: bool = True
    indicator_threshold: int = field(default=2, minimum=1)
    require_explicit_signal: bool = True
    evidence_checks: EvidenceChecks = field(default_factory=EvidenceChecks)
    #: None for the default patterns.
    patterns: tuple[str, ...] | None = field(default=None, phrases=True)
    #: A file with checkboxes. If all are ticked, that is another sign.
    plan_file: str | None = None
    #: Indicator thresholds by kind of task.
    thresholds: Mapping[str, int] = field(default_factory=dict, minimum=1)
    #: Whether a claim may override the threshold.
    honour_override: bool = False


class ConfidenceRules(Section):
    #: A claim is confident from `threshold` points, and weak below `low`.
    threshold: int = field(default=70, minimum=1, maximum=100)
    low: int = field(default=50, minimum=0)
    #: The number of weak claims after which a person is asked.
    repeated: int = field(default=3, minimum=1)
    keywords: tuple[str, ...] = field(default=("complete", "done", "finished", "all.*pass"), phrases=True)
    #: A file that the agent moves into `done_folder` when its work is done.
    task_file: str | None = None
    done_folder: str = "done"


class AgentSettings(Section):
    """Settings for the hooks of coding agents."""

    #: What an agent has to finish before it may stop.
    until: Until = "cycle"
    #: How often in a row the stop hook blocks an agent while no test runs and no file changes.
    stop_blocks: int = field(default=3, minimum=1)


class VerificationSettings(Section):
    """Defaults for verify tasks, unless the task overrides them."""

    #: Seconds by step: executor, verify, review.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1, most=MAX_TIMEOUTS)
    #: No time limits for executor and reviewer, for tasks that people do.
    untimed: bool = False


class DriveBudget(Value):
    """How much a drive may use before it ends."""

    iterations: int = field(default=30, minimum=1)
    seconds: float = field(default=4 * 3600.0, key="time", span=True, minimum=1)


class DriveSettings(Section):
    """How an agent is driven through the workflow."""

    #: The name of a client, or the words of a command line; empty if the command line of `drive` has to name one.
    agent: tuple[str, ...] = field(default=(), or_one=True)
    #: The time limits of the agent in one iteration, and of our own test run, in seconds.
    time_limit: float = field(default=20 * 60.0, span=True, minimum=1)
    test_time_limit: float = field(default=60 * 60.0, span=True, minimum=1)
    budget: DriveBudget = field(default_factory=DriveBudget)
    signal: DriveSignal = "ask"
    #: Additional arguments for our own runs of pytest.
    pytest: tuple[str, ...] = ()
    #: A file that describes the goal, relative to the root.
    goal_file: str = field(default="", below_root="")
    #: The phase whose exit ends the drive; empty for the end of the cycle.
    until: str = ""
    #: Whether to commit a verify task when it is approved.
    commit: bool = False
    #: The commands that work in single phases, each like `agent`.
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, or_one=True)
    #: Names of clients or command lines: all vote in a pipeline, and the first one reviews verify tasks.
    reviewers: tuple[str, ...] = field(default=(), or_one=True)


#: The sections by their keys in the file.
SECTIONS: Mapping[str, type[Section]] = {
    "exit_gate": ExitGate,
    "confidence": ConfidenceRules,
    "agents": AgentSettings,
    "verification": VerificationSettings,
    "drive": DriveSettings,
}


# --- phrases: text, with `.*` for anything in between, and `\b` for the beginning or end of a word


_PHRASE = re.compile(r"(?:\.\*|\\b|[^\\()\[\]{}|*+?^$])+")


def is_phrase(text: str) -> bool:
    """Return whether a text is a phrase. Other signs of regular expressions have no meaning, so they are refused."""
    return _PHRASE.fullmatch(text) is not None


def find_ends(phrase: str, sentence: str) -> Iterator[int]:
    """Yield the positions where a phrase ends that begins with a word. Upper and lower case are the same.

    Takes linear time, because the pieces between `.*` are searched one after the other: each of them at the first place
    after the one before it, and the last one anywhere.
    """
    *pieces, last = _compile(phrase)
    place = 0
    for piece in pieces:
        found = piece.search(sentence, place)
        if found is None:
            return
        place = found.end()
    yield from (found.end() for found in last.finditer(sentence, place))


@cache
def _compile(phrase: str) -> list[re.Pattern[str]]:
    pieces = [r"\b".join(map(re.escape, piece.split(r"\b"))) for piece in phrase.split(".*")]
    pieces[0] = rf"(?<!\w){pieces[0]}"  # "incomplete" is not "complete"
    return [re.compile(piece, re.IGNORECASE) for piece in pieces]


# --- a project's changes to its workflow


class ArtifactChange(Value):
    """A project's changes to an artifact."""

    path: str | None = field(default=None, below_root="")
    line: str = field(default="", prose=True)
    min_words: int | None = field(default=None, minimum=1)


class PhaseOverlay(Value):
    """A project's changes to a phase: an additional or replaced condition, more guards, other limits."""

    condition: str | None = field(default=None, is_condition=True)
    guards: tuple[str, ...] = ()
    replace: bool = False
    breaker: Limits | None = None


class Overlay(Value):
    """A project's changes to a workflow. Keys and texts from its file have their places."""

    parameters: Mapping[str, MetricValue] = field(default_factory=dict)
    metrics: Mapping[str, MetricType] = field(default_factory=dict, named=("a metric", "_"))
    guards: Mapping[str, Guard] = field(default_factory=dict, named=("a guard", "-"))
    phases: Mapping[str, PhaseOverlay] = field(default_factory=dict)
    #: Changes to artifacts of a pipeline, by name.
    artifacts: Mapping[str, ArtifactChange] = field(default_factory=dict)
    #: Files that must not change during a pipeline; None for those of the workflow.
    constitution: tuple[str, ...] | None = field(default=None, below_root="")
