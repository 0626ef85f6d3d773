"""The settings of a project, with their defaults.

Fast to import: read-only commands need the defaults, but not the parser. The options of a field other than its default
are for the reader of the file, `config.reading`.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal, Value, field
from phase_gate.workflow.model import Overlay

#: The meaning of a run's exit status: pytest's own, Gate 1, or both gates.
ExitMeaning = Literal["tests", "gate1", "dual"]

#: How a proof affects the gate.
ProofMode = Literal["on", "required", "off"]

#: What an agent has to finish before it may stop.
Until = Literal["cycle", "phase"]

#: Who gives the signal of Gate 2 in a drive: the user, who is asked, or the agent.
DriveSignal = Literal["ask", "agent"]

#: Whether to report to the CI system.
CiReports = Literal["auto", "off"]

FILE_NAME = "phase-gate.yaml"
#: The alternative file for settings, in the table `[tool.phase-gate]`.
PYPROJECT = "pyproject.toml"

DEFAULT_WORKFLOW = "tdd"

#: In seconds. A run's two writes take milliseconds, so a process that holds the lock for longer is stuck.
DEFAULT_LOCK_TIMEOUT = 10.0

#: In hours: longer than almost any suite takes.
DEFAULT_RUN_LIMIT = 6.0

#: In days: longer than most users need the objects of an earlier cycle.
DEFAULT_KEEP_OBJECTS = 30.0

#: Globs of documents, which are not part of the tested tree.
DEFAULT_DOCS = ("*.md", "*.rst", "docs/**")

#: Files that look like documents but are not documentation: change notes, licenses, instructions to tools, templates,
#: and test data.
DEFAULT_NO_DOCUMENTS = (
    *("CHANGELOG*", "CHANGES*", "HISTORY.*", "NEWS.*", "changelog.*", "changes.*", "release-notes*"),
    *("changelog/**", "changelog.d/**", "changes/**", "newsfragments/**"),
    *("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "AUTHORS*", "CODE_OF_CONDUCT*"),
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", "TODO.*", ".*/**"),
    *("template.md", "template-*.md", "*-template.md", "adr-template*.md"),
    *("test/**", "tests/**", "**/test/**", "**/tests/**"),
)

#: Folders of decision records, as adr-tools, MADR and similar tools use them.
DEFAULT_DECISIONS = ("**/adr/**", "**/adrs/**", "**/decisions/**", "**/decision-records/**")

#: Distinct words in a document: about three sentences. Shorter texts are little more than headings.
DEFAULT_MINIMUM_WORDS = 20

#: The time limit of each step of a verify task, in seconds, and the maximum that a task may set.
DEFAULT_TIMEOUTS: Mapping[str, float] = {"executor": 300.0, "verify": 120.0, "review": 180.0}
MAX_TIMEOUTS: Mapping[str, float] = {"executor": 900.0, "verify": 300.0, "review": 600.0}
#: The time limit of all three steps together, in seconds.
GATE_TIMEOUT = 1800.0


class RunDefaults(Value):
    """Defaults for the options of `pytest --phase`."""

    task: str | None = None
    exit: ExitMeaning = "gate1"
    #: Whether to repeat green runs automatically until there are enough in a row.
    confirm: bool = False
    #: A number, or the path of a file with ids.
    criteria: int | str | None = field(default=None, minimum=1)
    report: tuple[str, ...] = field(default=(), or_one=True, below_root="use --phase-report on the command line")
    dir: str | None = field(default=None, below_root="name it with --phase-dir, --dir or PHASE_GATE_DIR")
    #: Whether to report to the current CI system: summary, outputs, annotations.
    ci: CiReports = "auto"


class EvidenceCommand(Value):
    """A command of the project whose exit code is evidence."""

    name: str = field(key="")
    #: The command line as written. It is split into words unless a shell runs it.
    run: str
    timeout: float = field(default=120.0, minimum=0)
    shell: bool = False

    @property
    def metric(self) -> str:
        return f"{self.name}_ok"

    @property
    def text(self) -> str:
        """The command in one line, for messages."""
        return " ".join(self.run.split())

    @property
    def rule(self) -> str:
        """The part that must not change during a cycle. The timeout may change."""
        return f"{self.text} (by a shell)" if self.shell else self.text


class QualitySettings(Value):
    """Which code to check. Ruff and its settings determine the findings."""

    enabled: bool = True
    #: Globs of the files to check; empty for all files except tests and documents.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class DocumentRules(Value):
    """Globs of documents and decision records, and the minimum length of a document."""

    #: None for the text files among the project's `docs`.
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = DEFAULT_NO_DOCUMENTS
    minimum_words: int = field(default=DEFAULT_MINIMUM_WORDS, minimum=1)
    decisions: tuple[str, ...] = DEFAULT_DECISIONS
    #: The time limit of PlantUML for all diagrams together, in seconds.
    timeout: float = field(default=120.0, minimum=0)


class EvidenceSettings(Value):
    """What is measured in addition to test runs."""

    #: Commands that we run, by their names.
    commands: Mapping[str, EvidenceCommand] = field(default_factory=dict, named=("a command", "_"))
    quality: QualitySettings = field(default_factory=QualitySettings)
    #: Whether to show new lines that no test runs.
    new_code: bool = False
    documents: DocumentRules = field(default_factory=DocumentRules)


class Overrides(Value):
    #: Whether a person's decisions need no terminal.
    allow_non_interactive: bool = False


class EvidenceChecks(Value):
    """Which measurements count as signs of completion."""

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
    #: None for the default patterns.
    patterns: tuple[str, ...] | None = field(default=None, phrases=True)
    #: A file with checkboxes. If all are ticked, that is another sign.
    plan_file: str | None = None
    #: Indicator thresholds by kind of task.
    thresholds: Mapping[str, int] = field(default_factory=dict, minimum=1)
    #: Whether a claim may override the threshold.
    honour_override: bool = False
    #: Whether a claim may count as the signal of Gate 2.
    as_signal: bool = False


class ConfidenceRules(Value):
    enabled: bool = True
    #: A claim is confident from `threshold` points, and weak below `low`.
    threshold: int = field(default=70, minimum=1, maximum=100)
    low: int = field(default=50, minimum=0)
    #: The number of weak claims after which a person is asked.
    repeated: int = field(default=3, minimum=1)
    keywords: tuple[str, ...] = field(default=("complete", "done", "finished", "all.*pass"), phrases=True)
    #: A file that the agent moves into `done_folder` when its work is done.
    task_file: str | None = None
    done_folder: str = "done"


class ProofSettings(Value):
    """Whether a phase needs an experiment to exit, and its time limit."""

    #: `on`: disproven targets close the gate, and unproven ones are shown; `required`: unproven ones close it, too.
    mode: ProofMode = "on"
    seconds: float = field(default=30.0, minimum=1)
    #: A git revision to compare with if RED was not seen in this cycle; empty for no proof then.
    base: str = ""


class AgentSettings(Value):
    """Settings for the hooks of coding agents."""

    #: What an agent has to finish before it may stop.
    until: Until = "cycle"
    #: How often in a row the stop hook blocks an agent while no test runs and no file changes.
    stop_blocks: int = field(default=3, minimum=1)


class VerificationSettings(Value):
    """Defaults for verify tasks, unless the task overrides them."""

    #: Seconds by step: executor, verify, review.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1, most=MAX_TIMEOUTS)
    #: No time limits for executor and reviewer, for tasks that people do.
    untimed: bool = False


class DriveBudget(Value):
    """How much a drive may use before it ends."""

    iterations: int = field(default=30, minimum=1)
    seconds: float = field(default=4 * 3600.0, key="time", span=True, minimum=1)


class DriveSettings(Value):
    """How an agent is driven through the workflow."""

    #: The name of a client, or the words of a command line; empty if the command line of `drive` has to name one.
    agent: tuple[str, ...] = field(default=(), or_one=True)
    #: The time limits of the agent in one iteration, and of our own test run, in seconds.
    time_limit: float = field(default=20 * 60.0, span=True, minimum=1)
    test_time_limit: float = field(default=60 * 60.0, span=True, minimum=1)
    budget: DriveBudget = field(default_factory=DriveBudget)
    signal: DriveSignal = "ask"
    #: The words of a command that notifies a person; `{reason}` is replaced by the reason.
    on_person_needed: tuple[str, ...] = field(default=(), or_one=True)
    #: Additional arguments for our own runs of pytest.
    pytest: tuple[str, ...] = ()
    #: A file that describes the goal, relative to the root.
    goal_file: str = field(default="", below_root="")
    #: The phase whose exit ends the drive; empty for the end of the cycle.
    until: str = ""
    #: Seconds to wait if a client is busy, doubled each time in a row.
    retry_wait: float = field(default=30.0, span=True, minimum=0)
    #: The commands that work on verify tasks and review them, each like `agent`. They have to differ.
    executor: tuple[str, ...] = field(default=(), or_one=True)
    reviewer: tuple[str, ...] = field(default=(), or_one=True)
    #: Whether to commit a verify task when it is approved.
    commit: bool = False
    #: The commands that work in single phases, each like `agent`, and those that vote.
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, or_one=True)
    voters: tuple[str, ...] = field(default=(), or_one=True)


class Configuration(Value):
    """The settings of a project. A project without a file has the defaults."""

    workflow: str = DEFAULT_WORKFLOW
    run: RunDefaults = field(default_factory=RunDefaults)
    overlay: Overlay = field(default_factory=Overlay, key="")
    #: Seconds to wait for another process's lock.
    lock_timeout: float = field(default=DEFAULT_LOCK_TIMEOUT, minimum=0)
    #: Hours after which machines that share a store consider a run lost.
    run_limit: float = field(default=DEFAULT_RUN_LIMIT, minimum=0)
    #: Days after which stored objects that only earlier cycles use are removed; 0 for never.
    keep_objects: float = field(default=DEFAULT_KEEP_OBJECTS, minimum=0)
    docs: tuple[str, ...] = DEFAULT_DOCS
    freeze: tuple[str, ...] = ()
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    overrides: Overrides = field(default_factory=Overrides)
    exit_gate: ExitGate = field(default_factory=ExitGate)
    confidence: ConfidenceRules = field(default_factory=ConfidenceRules)
    proof: ProofSettings = field(default_factory=ProofSettings, short="mode")
    agents: AgentSettings = field(default_factory=AgentSettings)
    verification: VerificationSettings = field(default_factory=VerificationSettings)
    drive: DriveSettings = field(default_factory=DriveSettings)
