"""The settings of a project, with their defaults.

Fast to import: read-only commands need the defaults, but not the parser. The options of a field other than its default
are for the reader of the file, `config.reading`.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal, Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.sections import Overlay

#: The meaning of a run's exit status: pytest's own, Gate 1, or both gates.
ExitMeaning = Literal["tests", "gate1", "dual"]

#: How a proof affects the gate.
ProofMode = Literal["on", "required", "off"]

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
    #: Distinct words: about three sentences. Shorter texts are little more than headings.
    minimum_words: int = field(default=20, minimum=1)
    #: Folders of decision records, as adr-tools, MADR and similar tools use them.
    decisions: tuple[str, ...] = ("**/adr/**", "**/adrs/**", "**/decisions/**", "**/decision-records/**")


class EvidenceSettings(Value):
    """What is measured in addition to test runs."""

    #: Commands that we run, by their names.
    commands: Mapping[str, EvidenceCommand] = field(default_factory=dict, named=("a command", "_"))
    quality: QualitySettings = QualitySettings()
    #: Whether to show new lines that no test runs.
    new_code: bool = False
    documents: DocumentRules = DocumentRules()


class Overrides(Value):
    #: Whether a person's decisions need no terminal.
    allow_non_interactive: bool = False


class ProofSettings(Value):
    """Whether a phase needs an experiment to exit, and its time limit."""

    #: `on`: disproven targets close the gate, and unproven ones are shown; `required`: unproven ones close it, too.
    mode: ProofMode = "on"
    seconds: float = field(default=60.0, minimum=1)


class Configuration(Value):
    """The settings of a project. A project without a file has the defaults."""

    workflow: str = DEFAULT_WORKFLOW
    run: RunDefaults = field(default_factory=RunDefaults)
    #: The changes to the workflow; None if there are none.
    overlay: Overlay | None = field(default=None, key="")
    #: Seconds to wait for another process's lock.
    lock_timeout: float = field(default=DEFAULT_LOCK_TIMEOUT, minimum=0)
    #: Hours after which machines that share a store consider a run lost.
    run_limit: float = field(default=DEFAULT_RUN_LIMIT, minimum=0)
    docs: tuple[str, ...] = DEFAULT_DOCS
    freeze: tuple[str, ...] = ()
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    overrides: Overrides = field(default_factory=Overrides)
    proof: ProofSettings = field(default_factory=ProofSettings, short="mode")
    #: What only some commands need, by its class. Sections that the file does not have are missing.
    sections: Mapping[type[Value], Value] = field(default_factory=dict, key="")
