"""A shard: it keeps what its session shows in one file, and judges nothing.

No ledger is touched: `phase-gate ci combine` makes one run of all shards, and that is what counts.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import StateError, StoreUnreachableError, UsageError
from phase_gate.evidence.context import RunCoverage
from phase_gate.gate.order import named_phase
from phase_gate.gate.record import Document
from phase_gate.gate.standing import exit_status_for
from phase_gate.project import Project
from phase_gate.report.panel import Line
from phase_gate.runs.hello import Hello, Wanted, own_settings
from phase_gate.runs.meaning import support_files, written_since
from phase_gate.runs.recorder import Recorder
from phase_gate.runs.sessions import RecordedSession, Screen
from phase_gate.shards.records import FOLDER, Shard, Split, collection_digest, to_ranges, write_shard
from phase_gate.shards.sharing import hand_in, round_of
from phase_gate.storage.store import now
from phase_gate.storage.tree.fingerprint import Tree, changed_sources
from phase_gate.storage.tree.git import head_of
from phase_gate.values import Value, replace
from phase_gate.visible import count
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.model_json import workflow_to_json

#: pytest's status for a session without tests.
_NOTHING_COLLECTED = 5


class ShardSession(RecordedSession):
    """One session of several that are one run together."""

    if_nothing = "so this shard is missing"

    def __init__(self, project: Project, hello: Hello, options: Mapping[str, object]) -> None:
        """Read everything that can be wrong before a test runs. Raises PhaseGateError for it.

        :param options: of pytest and its plugins, which may have split the suite.
        """
        self.project, self._hello = project, hello
        self._split = read_split(str(options["phase_shard"]), options, project.environment)
        _refuse_verdicts(hello)
        self._run = run = Recorder.find(project, hello)
        phase = named_phase(run.workflow, hello.phase)
        if phase is None:
            names = ", ".join(each.name.lower() for each in run.workflow.phases)
            raise UsageError("--phase=auto: a shard has to name its phase", remedy=f"use one of: {names}")
        with contextlib.suppress(StateError):  # a damaged one is for the combining job to report
            if run.store.look().exists:
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
        #: Whether the shared store knows that it began.
        self._is_begun = False

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
            python=platform.python_version(),
            pytest=self._hello.pytest,
            workflow=workflow_to_json(self._run.workflow),
            criteria_given=self._run.criteria_given,
            criteria=tuple(sorted(self._run.criteria.ids)),
        )
        self._write(self._shard)

    def end(self, document: Document, screen: Screen, coverage: RunCoverage | None) -> None:
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
                # What others run is deselected here, and says nothing about the whole.
                deselected=frozenset(),
                collected=(),
                left_out={},
                settings={**document.settings, **own_settings(self.project.configuration, self._run.declared)},
                surroundings=self._run.surroundings,
            ),
            changed_sources=changed_sources(self._before, after),
            written=tuple(sorted(path for path, _ in used if is_output(path))),
            collected=collected,
            collection=collection_digest(collected),
            left_out={
                who: to_ranges(sorted(places[each] for each in ids if each in places)) for who, ids in left_out.items()
            },
        )
        self._write(self._shard)

    def _write(self, shard: Shard) -> None:
        write_shard(self._folder, shard, key=self.project.key)
        if self._run.store.shared is None:
            return
        name = round_of(self.project.environment)
        if shard.facts is None:
            # Where it can't be said now, it is said with the end.
            with contextlib.suppress(StoreUnreachableError):
                hand_in(self._run.store, shard, round_name=name)
                self._is_begun = True
            return
        begun = () if self._is_begun else (replace(shard, facts=None),)
        hand_in(self._run.store, *begun, shard, round_name=name)

    @property
    def _folder(self) -> Path:
        return self.project.root / FOLDER

    def panel(self, screen: Screen) -> list[Line]:
        assert self._shard is not None
        assert self._shard.facts is not None
        ran = count(len(self._shard.ran), "test")
        shared = self._run.store.shared
        where, combine = f"{FOLDER}/", f"phase-gate ci combine {FOLDER}"
        if shared is not None:
            where, combine = shared.shown, "phase-gate ci combine"
        return [
            Line(f"phase gate: shard {self._split} of {self._phase.name}", {"bold": True}, is_title=True),
            Line(f"{ran} of {len(self._shard.collected)} recorded in {where}; a shard alone has no verdict"),
            Line(f"next    {combine}   (when all {self._split.total} are there)", {"bold": True}),
        ]

    def properties(self) -> Mapping[str, str]:
        return {"phase-gate.shard": str(self._split), "phase-gate.phase": self._phase.name}

    def exit_status(self, pytest_said: int, *, has_collection_errors: bool) -> int:
        """Return pytest's own status; where the phase wants failing tests, whether the record was written."""
        if self._shard is None and self.problem is None:
            return pytest_said  # no test was meant to run
        has_own = self._shard is not None and bool(self._shard.collected)
        if pytest_said == _NOTHING_COLLECTED and has_own:
            pytest_said = 0  # few tests, many shards: the others have them
        return exit_status_for(
            pytest_said,
            meaning="gate1",
            tests=self._phase.tests,
            is_open=True,
            is_trusted=self.problem is None,
            has_collection_errors=has_collection_errors,
        )


def _refuse_verdicts(hello: Hello) -> None:
    """Refuse options that speak of a verdict: a shard has none."""
    combine = f"phase-gate ci combine {FOLDER}"
    again = f"leave it out: run all shards once more after {combine}, and combine them again"
    for given, name, remedy in (
        (hello.exit_signal, "--exit-signal", f'{combine} --exit-signal="..."'),
        (hello.confirms, "--phase-confirm", again),
        (hello.reports, "--phase-report", f"{combine} --report FILE"),
        (hello.exit_meaning, "--phase-exit", f"{combine} --exit gate1, or --exit dual"),
    ):
        if given:
            raise UsageError(f"{name} speaks of a verdict, and a shard alone has none", remedy=remedy)


# --- which shard a session is: as typed, as the plugin that splits says, or as the CI's variables say


AUTO = "auto"


class _Source(Value, kw_only=False):
    """Two names that say which shard, and of how many; and the number that counting begins with."""

    whose: str
    index: str
    total: str
    first: int


#: Names of options of the plugins that split: what they were told is what they will do.
_PLUGINS = (
    _Source("pytest-split", "group", "splits", 1),
    _Source("pytest-shard", "shard_id", "num_shards", 0),
)
#: Variables of CI systems. GitHub has none: a matrix passes its own number.
_VARIABLES = (
    _Source("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    _Source("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
    _Source("CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    _Source("Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
)
#: Bazel wants a sign that its shards are honoured; `ci combine` proves it later.
_BAZEL_SIGN = "TEST_SHARD_STATUS_FILE"


def read_split(text: str, options: Mapping[str, object], environment: Mapping[str, str]) -> Split:
    """Return which shard this is. Raises UsageError where that can't be told, or two say different things."""
    by_plugin = _find(_PLUGINS, {name: str(value) for name, value in options.items() if value is not None})
    if text != AUTO:
        split = _read_typed(text)
        if by_plugin is not None and by_plugin[1] not in (split, Split(1, 1)):
            whose, theirs = by_plugin
            raise UsageError(
                f"--phase-shard={text}, and {whose} was told {theirs}",
                remedy=f"say the same twice, or --phase-shard={AUTO}",
            )
        return split
    found = by_plugin if by_plugin is not None and by_plugin[1].total > 1 else _find(_VARIABLES, environment)
    if found is None:
        # Silence here would let every job run the whole suite and call it a shard.
        names = ", ".join(source.index for source in _VARIABLES)
        raise UsageError(
            f"--phase-shard={AUTO}: neither an option of a plugin that splits nor a variable says which shard this is"
            f" (looked for {names})",
            remedy="name it: --phase-shard=2/5",
        )
    _tell_bazel(environment)
    return found[1]


def _read_typed(text: str) -> Split:
    index, _, total = text.partition("/")
    if not (index.isdecimal() and total.isdecimal() and 1 <= int(index) <= int(total)):
        raise UsageError(
            f"--phase-shard={text}: not I/N with I from 1 to N", remedy=f"write --phase-shard=2/5, or {AUTO}"
        )
    return Split(int(index), int(total))


def _find(sources: tuple[_Source, ...], values: Mapping[str, str]) -> tuple[str, Split] | None:
    for source in sources:
        index, total = values.get(source.index, ""), values.get(source.total, "")
        if index.isdecimal() and total.isdecimal() and int(total) > 0:
            split = Split(int(index) - source.first + 1, int(total))
            if not 1 <= split.index <= split.total:
                raise UsageError(
                    f"{source.whose} says {source.index} {index} of {total}: there is no such shard",
                    remedy="mend that, or name the shard: --phase-shard=2/5",
                )
            return source.whose, split
    return None


def _tell_bazel(environment: Mapping[str, str]) -> None:
    if environment.get(_BAZEL_SIGN):
        try:
            Path(environment[_BAZEL_SIGN]).touch()
        except OSError:
            os.write(2, b"phase-gate: the file that Bazel asked for could not be touched\n")
