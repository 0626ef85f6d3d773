"""The settings of a project as values; without a file, the defaults.

Light on purpose: read-only commands need the defaults and never the parser. Further arguments of `field` are for
`config.reading`, which reads the file.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal, Value, as_dict, field
from phase_gate.workflow.model import Overlay

#: What the exit status of a run means: pytest's own, Gate 1, or both gates.
ExitMeaning = Literal["tests", "gate1", "dual"]

#: What a proof may do to a gate.
ProofMode = Literal["on", "required", "off"]

#: How far an agent has to come before it may stop.
Until = Literal["cycle", "phase"]

#: Who gives the signal of Gate 2 in a drive: a person who is asked, or the agent.
DriveSignal = Literal["ask", "agent"]

#: Whether to write summaries for a CI system.
CiReports = Literal["auto", "off"]

FILE_NAME = "phase-gate.yaml"
#: The other file for settings, in the table `[tool.phase-gate]`.
PYPROJECT = "pyproject.toml"

DEFAULT_WORKFLOW = "tdd"

#: Seconds: a run's two writes take milliseconds, so a process that holds the lock for longer is stuck.
DEFAULT_LOCK_TIMEOUT = 10.0

#: Hours: longer than almost any suite takes.
DEFAULT_RUN_LIMIT = 6.0

#: Days: longer than most people look back at a cycle.
DEFAULT_KEEP_OBJECTS = 30.0

#: Default names of documents, which are not part of the tested tree.
DEFAULT_DOCS = ("*.md", "*.rst", "docs/**")

#: Texts that are no documentation, though they look like documents: change notes, licences, instructions to tools,
#: templates, and what tests read.
DEFAULT_NO_DOCUMENTS = (
    *("CHANGELOG*", "CHANGES*", "HISTORY.*", "NEWS.*", "changelog.*", "changes.*", "release-notes*"),
    *("changelog/**", "changelog.d/**", "changes/**", "newsfragments/**"),
    *("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "AUTHORS*", "CODE_OF_CONDUCT*"),
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", "TODO.*", ".*/**"),
    *("template.md", "template-*.md", "*-template.md", "adr-template*.md"),
    *("test/**", "tests/**", "**/test/**", "**/tests/**"),
)

#: Where decision records are kept, by adr-tools, MADR and those who do as they do.
DEFAULT_DECISIONS = ("**/adr/**", "**/adrs/**", "**/decisions/**", "**/decision-records/**")

#: Different words: less than three sentences is no more than a heading.
DEFAULT_MINIMUM_WORDS = 20

#: Seconds that each step of a verify task has, and those that a task may ask for at most.
DEFAULT_TIMEOUTS: Mapping[str, float] = {"executor": 300.0, "verify": 120.0, "review": 180.0}
MAX_TIMEOUTS: Mapping[str, float] = {"executor": 900.0, "verify": 300.0, "review": 600.0}
#: Seconds that all three have together.
GATE_TIMEOUT = 1800.0


#: Variables that no agent is ever given.
WITHHELD = ("PHASE_GATE_KEY", "PHASE_GATE_STORE*")


class RunDefaults(Value):
    """What options of `pytest --phase` are when the call leaves them out."""

    task: str | None = None
    exit: ExitMeaning = "gate1"
    #: Whether further runs follow by themselves while the streak is short.
    confirm: bool = False
    #: A number, or the path of a file with ids.
    criteria: int | str | None = field(default=None, minimum=1)
    report: tuple[str, ...] = field(default=(), or_one=True, below_root="give --phase-report with the call")
    dir: str | None = field(default=None, below_root="name it with --phase-dir, --dir or PHASE_GATE_DIR")
    #: Whether to tell the CI system that we run in: summary, outputs, annotations.
    ci: CiReports = "auto"


class EvidenceCommand(Value):
    """A command of the project whose exit code is evidence."""

    name: str = field(key="")
    #: As written; split into words unless it is for a shell.
    run: str
    timeout: float = field(default=120.0, minimum=0)
    shell: bool = False

    @property
    def metric(self) -> str:
        return f"{self.name}_ok"

    @property
    def text(self) -> str:
        """In one line, for people."""
        return " ".join(self.run.split())

    @property
    def rule(self) -> str:
        """What may not change in the middle of a cycle; how long it may take, may."""
        return f"{self.text} (by a shell)" if self.shell else self.text


class QualitySettings(Value):
    """Which code is measured by ruff, with the project's settings of ruff."""

    enabled: bool = True
    #: Globs of the files to look at; none: all that are neither tests nor documents.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """In one line: it may not change in the middle of a cycle."""
        return ", ".join(f"{name}: {_show(value)}" for name, value in as_dict(self).items())


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


class EvidenceChecks(Value):
    """Which measurements may be signs of completion."""

    tests: bool = True
    build: bool = False
    acceptance_criteria: bool = True
    clean_git: bool = False


class ExitGate(Value):
    """When a claim of completion passes."""

    enabled: bool = True
    indicator_threshold: int = field(default=2, minimum=1)
    require_explicit_signal: bool = True
    evidence_checks: EvidenceChecks = field(default_factory=EvidenceChecks)
    #: None: the six of the source document.
    patterns: tuple[str, ...] | None = field(default=None, phrases=True)
    #: A file whose boxes are all ticked is a sign, too.
    plan_file: str | None = None
    #: Thresholds by kind of task.
    thresholds: Mapping[str, int] = field(default_factory=dict, minimum=1)
    #: Whether a claim may ask to leave the threshold out.
    honour_override: bool = False
    #: Whether a claim may be taken for the signal of Gate 2.
    as_signal: bool = False


class ConfidenceRules(Value):
    enabled: bool = True
    #: From here on it is a confident completion; below `low` it is none at all.
    threshold: int = field(default=70, minimum=1)
    low: int = field(default=50, minimum=0)
    #: So many claims with little behind them, and a person is asked.
    repeated: int = field(default=3, minimum=1)
    keywords: tuple[str, ...] = field(default=("complete", "done", "finished", "all.*pass"), phrases=True)
    #: Moved into the folder when its work is done.
    task_file: str | None = None
    done_folder: str = "done"


class DocumentRules(Value):
    """Which files are documents and decision records: globs, and the required length."""

    #: None: the project's `docs`, as far as they are texts.
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = DEFAULT_NO_DOCUMENTS
    minimum_words: int = field(default=DEFAULT_MINIMUM_WORDS, minimum=1)
    decisions: tuple[str, ...] = DEFAULT_DECISIONS
    #: Seconds that PlantUML may take, for all diagrams together.
    timeout: float = field(default=120.0, minimum=0)

    @property
    def rules(self) -> dict[str, str]:
        """What may not change in the middle of a cycle, where it is not as usual; how long it may take, may."""
        usual = DocumentRules()
        return {
            name: ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            for name in ("include", "exclude", "minimum_words", "decisions")
            if (value := getattr(self, name)) != getattr(usual, name)
        }


class ProofSettings(Value):
    """Whether a phase exits without an experiment, and how long that may take."""

    #: `on`: what it disproves closes the gate, what it can't try is shown; `required`: that closes it, too.
    mode: ProofMode = "on"
    seconds: float = field(default=30.0, minimum=1)
    #: A git revision to compare with where RED was never seen; empty: then there is no proof.
    base: str = ""

    @property
    def rule(self) -> str:
        """What may not change in the middle of a cycle; how long it may take, may."""
        return f"{self.mode} {self.base}".rstrip()


class AgentSettings(Value):
    """Settings of the hooks for coding agents."""

    #: How far an agent has to come before it may stop.
    until: Until = "cycle"
    #: How often in a row the stop hook holds an agent up while nothing is run and no file changes.
    stop_blocks: int = field(default=3, minimum=1)


class VerificationSettings(Value):
    """Defaults for verify tasks."""

    #: Seconds by step: executor, verify, review.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1)
    #: Executor and reviewer are people: no time limit for them.
    untimed: bool = False
    #: Where the state of all tasks is written for people, from the root; None: into the state folder.
    state_file: str | None = field(default=None, below_root="")


class DriveBudget(Value):
    """How much a drive may use before it ends."""

    iterations: int = field(default=30, minimum=1)
    seconds: float = field(default=4 * 3600.0, key="time", span=True, minimum=1)


class DriveSettings(Value):
    """How an agent is driven through the workflow."""

    #: The name of a client, or the words of a command line; none: the call has to give one.
    agent: tuple[str, ...] = field(default=(), or_one=True)
    #: Seconds that the agent has in one iteration, and that our own run of the tests has.
    time_limit: float = field(default=20 * 60.0, span=True, minimum=1)
    test_time_limit: float = field(default=60 * 60.0, span=True, minimum=1)
    budget: DriveBudget = field(default_factory=DriveBudget)
    signal: DriveSignal = "ask"
    #: A command that calls a person; `{reason}` is the reason.
    on_person_needed: tuple[str, ...] = field(default=(), or_one=True)
    #: Names or globs of variables that the agent gets; None: all but our keys.
    env: tuple[str, ...] | None = None
    #: Further arguments of our own runs of pytest.
    pytest: tuple[str, ...] = ()
    #: A file with the goal, relative to the root.
    goal_file: str = field(default="", below_root="")
    #: The phase whose exit ends the drive; empty: the end of the cycle.
    until: str = ""
    #: Iterations in a row in which the agent changes nothing, and the drive ends.
    idle_limit: int = field(default=5, minimum=1)
    #: Seconds to wait where a client is busy; twice as long each time in a row.
    retry_wait: float = field(default=30.0, span=True, minimum=0)
    #: Who works on verify tasks, and who reviews them: each like `agent`, and never the same command.
    executor: tuple[str, ...] = field(default=(), or_one=True)
    reviewer: tuple[str, ...] = field(default=(), or_one=True)
    #: Commit a verify task when it is approved.
    commit: bool = False
    #: Who works in a pipeline, by role or phase, each like `agent`; and the commands that vote.
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict, or_one=True)
    voters: tuple[str, ...] = field(default=(), key="")


class Configuration(Value):
    """The content of the project's file; without a file, the defaults."""

    workflow: str = DEFAULT_WORKFLOW
    run: RunDefaults = field(default_factory=RunDefaults)
    overlay: Overlay = field(default_factory=Overlay)
    #: Seconds to wait for another process's lock.
    lock_timeout: float = field(default=DEFAULT_LOCK_TIMEOUT, minimum=0)
    #: Hours after which machines that share a store take a run for lost.
    run_limit: float = field(default=DEFAULT_RUN_LIMIT, minimum=0)
    #: Days after which stored objects that only earlier cycles name are removed; 0: never.
    keep_objects: float = field(default=DEFAULT_KEEP_OBJECTS, minimum=0)
    docs: tuple[str, ...] = DEFAULT_DOCS
    freeze: tuple[str, ...] = ()
    #: What we run ourselves, for evidence.
    commands: tuple[EvidenceCommand, ...] = ()
    quality: QualitySettings = field(default_factory=QualitySettings)
    #: Whether it is shown which new lines no test reaches.
    new_code: bool = False
    documents: DocumentRules = field(default_factory=DocumentRules)
    allow_non_interactive: bool = False
    exit_gate: ExitGate = field(default_factory=ExitGate)
    confidence: ConfidenceRules = field(default_factory=ConfidenceRules)
    proof: ProofSettings = field(default_factory=ProofSettings)
    agents: AgentSettings = field(default_factory=AgentSettings)
    verification: VerificationSettings = field(default_factory=VerificationSettings)
    drive: DriveSettings = field(default_factory=DriveSettings)
    #: The shared store that tasks are kept in, as `git:REMOTE#PROJECT` or `postgresql://...#PROJECT`; empty: none.
    store: str = ""
