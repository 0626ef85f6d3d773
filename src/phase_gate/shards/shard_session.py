"""A shard: it keeps what its session shows in one file, and judges nothing.

No ledger is touched: `phase-gate ci combine` makes one run of all shards, and that is what counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from phase_gate.errors import StateError, UsageError
from phase_gate.gate.measured import Wanted
from phase_gate.gate.order import named_phase
from phase_gate.gate.record import Document
from phase_gate.project import Project
from phase_gate.report.panel import Line
from phase_gate.runs.hello import PYTHON_VERSION, Hello, own_settings
from phase_gate.runs.meaning import support_files, written_since
from phase_gate.runs.recorder import Recorder
from phase_gate.runs.sessions import RecordedSession, Screen, exit_status_for
from phase_gate.shards.records import FOLDER, NOTHING_COLLECTED, Shard, Split, collection_digest, write_shard
from phase_gate.storage.fingerprint import Tree, changed_sources
from phase_gate.storage.git_command import head_of
from phase_gate.storage.store import now
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.model import Phase, Workflow


class ShardSession(RecordedSession):
    """One session of several that are one run together."""

    if_nothing = "so this shard is missing"

    def __init__(self, project: Project, hello: Hello, shard: str) -> None:
        """Read everything that can be wrong before a test runs. Raises PhaseGateError for it.

        :param shard: which of how many, as the option names it.
        """
        self.project, self._hello = project, hello
        self._split = read_split(shard)
        _refuse_verdicts(hello)
        self._run = run = Recorder.find(project, hello)
        phase = named_phase(run.workflow, hello.phase)
        if phase is None:
            names = ", ".join(each.name.lower() for each in run.workflow.phases)
            raise UsageError("--phase=auto: a shard has to name its phase", remedy=f"use one of: {names}")
        with contextlib.suppress(StateError):  # a damaged one is for the combining job to report
            if run.store.read().exists:
                run.check_order()  # refused when they are combined: better now than then
        run.phase = self._phase = phase
        run.take_criteria()
        self.header = f"phase gate: shard {self._split} of {phase.name}, root {project.root}"
        self.wanted = Wanted(
            root=str(project.root),
            reasons=phase.tests == "failing",
            parts=run.freezes,
            criteria=run.criteria.ids if run.criteria.listed else (),
            slices=True,
        )
        self._before: Tree | None = None
        self._shard: Shard | None = None
        self._began = 0.0

    @property
    def rules(self) -> tuple[Workflow, Phase]:
        return self._run.workflow, self._phase

    def begin(self, began: float) -> None:
        """Write the record of a shard that has not ended: it stays if the process dies."""
        self._began = began
        self._before = self.project.take_tree(new_data=False)
        self._shard = Shard(
            id=self._run.id,
            split=self._split,
            task=self.project.task,
            phase=self._phase.name,
            began=now(),
            commit=head_of(self.project.root),
            tree=self._before.digest,
            python=PYTHON_VERSION,
            pytest=self._hello.pytest,
            workflow=self._run.workflow,
            criteria_given=self._run.criteria_given,
            criteria=tuple(sorted(self._run.criteria.ids)),
        )
        self._write(self._shard)

    def end(self, document: Document, screen: Screen, coverage: object) -> None:
        assert self._shard is not None, "it has begun"
        assert self._before is not None, "it has begun"
        after = self.project.take_tree(new_data=False)
        collected, left_out = document.collected, document.left_out
        places = {test_id: place for place, test_id in enumerate(collected)}
        is_output = written_since(self.project.root, self._began)
        tests = {test_id.partition("::")[0] for test_id in (*collected, *document.outcomes)}
        used = support_files(self.project, tests, after.files, document.testpaths)
        self._shard = replace(
            self._shard,
            facts=replace(
                document,
                # Tests of other shards are deselected here, which does not make the whole run partial.
                deselected=frozenset(),
                collected=(),
                left_out={},
                settings={**document.settings, **own_settings(self.project.configuration, self._run.rules)},
                surroundings=self._run.surroundings,
            ),
            changed_sources=changed_sources(self._before, after),
            written=tuple(sorted(path for path, _ in used if is_output(path))),
            collected=collected,
            collection=collection_digest(collected),
            left_out={
                who: tuple(sorted(places[each] for each in ids if each in places)) for who, ids in left_out.items()
            },
        )
        self._write(self._shard)

    def _write(self, shard: Shard) -> None:
        write_shard(self.project.root / FOLDER, shard, key=self.project.key)

    def panel(self, screen: Screen) -> list[Line]:
        assert self._shard is not None
        assert self._shard.facts is not None
        ran = count(len(self._shard.ran), "test")
        return [
            Line(f"phase gate: shard {self._split} of {self._phase.name}", {"bold": True}, is_title=True),
            Line(f"{ran} of {len(self._shard.collected)} recorded in {FOLDER}/; a shard alone has no verdict"),
            Line(f"next    phase-gate ci combine {FOLDER}   (when all {self._split.total} are there)", {"bold": True}),
        ]

    def properties(self) -> Mapping[str, str]:
        return {"phase-gate.shard": str(self._split), "phase-gate.phase": self._phase.name}

    def exit_status(self, pytest_status: int, *, has_collection_errors: bool) -> int:
        """Return pytest's own status; where the phase wants failing tests, whether the record was written."""
        if self._shard is None and self.problem is None:
            return pytest_status  # no test was meant to run
        has_own = self._shard is not None and bool(self._shard.collected)
        if pytest_status == NOTHING_COLLECTED and has_own:
            pytest_status = 0  # few tests, many shards: the others have them
        return exit_status_for(
            pytest_status,
            meaning="gate1",
            tests=self._phase.tests,
            is_open=True,
            is_trusted=self.problem is None,
            has_collection_errors=has_collection_errors,
        )


def _refuse_verdicts(hello: Hello) -> None:
    """Raise UsageError for options that need a verdict: a shard has none."""
    combine = f"phase-gate ci combine {FOLDER}"
    again = f"leave it out: run all shards once more after {combine}, and combine them again"
    for given, name, remedy in (
        (hello.exit_signal, "--exit-signal", f'{combine} --exit-signal="..."'),
        (hello.confirms, "--phase-confirm", again),
        (hello.reports, "--phase-report", f"{combine} --report FILE"),
        (hello.exit_meaning, "--phase-exit", f"{combine} --exit gate1, or --exit dual"),
    ):
        if given:
            raise UsageError(f"{name} needs a verdict, and a single shard has none", remedy=remedy)


def read_split(text: str) -> Split:
    """Return which shard this is. Raises UsageError for a bad value."""
    index, _, total = text.partition("/")
    if not (index.isdecimal() and total.isdecimal() and 1 <= int(index) <= int(total)):
        raise UsageError(f"--phase-shard={text}: not I/N with I from 1 to N", remedy="write --phase-shard=2/5")
    return Split(int(index), int(total))
