"""The mutants of a task: which there are, what was tried on these very files already, and the event that records it."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterable

from phase_gate.codec import from_json, spell_out, spell_out_each
from phase_gate.errors import NotAllowedError
from phase_gate.evidence.gathering import context_of
from phase_gate.evidence.new_lines import find_new_code, recall_kept
from phase_gate.evidence.sources import list_sources
from phase_gate.gate.experiments import MUTATION, current_experiment, experimented
from phase_gate.gate.findings import Finding, cap_findings
from phase_gate.gate.inventory import bare_id
from phase_gate.gate.state import ExperimentRecord
from phase_gate.mutation.choosing import order_mutants
from phase_gate.mutation.engine import count_excused, engine_version, make_mutants
from phase_gate.mutation.model import Mutant, Mutation, Tried
from phase_gate.mutation.trying import BaselineError, Ground, make_baseline, try_mutants
from phase_gate.rooms.arguments import parse_options, words_of_red
from phase_gate.storage.keeping import LostError
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import MetricValue

#: Seconds that a call may take, unless it says otherwise.
DEFAULT_SECONDS = 60.0
#: Seconds after which what was tried is kept: a call that is killed loses no more than that.
_KEPT_EVERY = 15.0
#: Seconds between two words to a user who waits.
_SAID_EVERY = 5.0

#: Who has kept the files as they were: since the cycle began, and since the phase before ended.
_KEPT_BY = ("new_code", "proof")


class Plan(Value):
    """What is to be tried."""

    ground: Ground
    #: In the order in which they are tried.
    mutants: tuple[Mutant, ...]
    #: What the lines are new since, for people.
    since: str
    key: str
    #: New statements that a comment keeps mutants away from.
    excused: int = 0


def plan_mutants(task: Task) -> Plan:
    """Return the mutants of the new lines. Raises NotAllowedError where no line can be known as new."""
    state, objects = task.state, task.store.objects
    phase = task.rules.phase(state.phase or "")
    if phase is None or phase.tests == "failing":
        raise NotAllowedError(
            f"{state.phase} has no new code yet: mutants are made of the lines that come after it",
            remedy="pytest --phase=green, once the code is there",
        )
    version = engine_version()
    context = context_of(task, frozenset(), phase=phase.name)
    name = next((each for each in _KEPT_BY if recall_kept(context, each) is not None), "")
    then = recall_kept(context, name) if name else None
    if then is None:
        raise NotAllowedError(
            "which lines are new is unknown: nothing was kept of the code as it was",
            remedy="set `evidence: new_code: true` in phase-gate.yaml before the next cycle begins",
        )
    # A proof keeps tests and documents as well: no code of the project has come from there.
    own = {*list_sources(context)}
    files = {path: content for path, content in then.files.items() if path in own or path not in task.tree.files}
    then = replace(then, files={path: content for path, content in files.items() if path.endswith(".py")})
    try:
        new = find_new_code(context, then)
    except LostError as error:
        raise NotAllowedError(f"which lines are new is unknown: {error}", remedy="pytest --phase=red") from error
    sources = {path: text for path in new if (text := _read(task, path)) is not None}
    mutants = [each for path, text in sources.items() for each in make_mutants(path, text, new[path].statements)]
    frozen = objects.load_frozen(state.freeze.current)
    words = (*(() if frozen is None else parse_options(frozen.settings)), *words_of_red(task))
    latest = state.snapshots.latest
    ground = Ground(
        root=task.project.root,
        sources={path: text for path, text in sources.items() if any(each.file == path for each in mutants)},
        test_files=_test_files(task),
        targets=_targets(task),
        excused=frozenset() if latest is None else frozenset(objects.load(latest.outcomes)),
        words=words,
    )
    return Plan(
        ground=ground,
        mutants=tuple(order_mutants(mutants)),
        since="the cycle began" if name == "new_code" else f"{_phase_before(task, phase.name)} ended",
        key=_digest(version, sys.version_info[:3], words),
        excused=sum(count_excused(text, new[path].statements) for path, text in sources.items()),
    )


def _phase_before(task: Task, phase: str) -> str:
    return next((each.name for each in task.rules.phases if each.next == phase), "the phase before")


def _read(task: Task, path: str) -> str | None:
    try:
        return (task.project.root / path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None  # in another encoding: what stands where is not known


def _test_files(task: Task) -> tuple[str, ...]:
    known = task.state.snapshots.known
    files = () if known is None else task.store.objects.load_inventory(known).files
    return tuple(sorted(path for path in files if (task.project.root / path).is_file()))


def _targets(task: Task) -> tuple[str, ...]:
    targets = task.state.aim.targets
    return () if targets is None else tuple(sorted({bare_id(each) for each in task.store.objects.load(targets)}))


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def load_mutation(task: Task) -> Mutation | None:
    """Return what was tried on the files as they are; None if nothing was."""
    record = current_experiment(task.state, MUTATION, task.tree.digest)
    return None if record is None else from_json(Mutation, task.store.objects.load(record.object))


def mutate(
    task: Task,
    *,
    seconds: float = DEFAULT_SECONDS,
    most: int | None = None,
    workers: int = 1,
    show: Callable[[str], None] = lambda text: None,
) -> Mutation:
    """Try the mutants that were not tried on these files yet, and record what became of them.

    :param seconds: how long it may take.
    :param most: how many to try at most.
    """
    began = time.monotonic()
    task.store.refuse_while_running(task.state)
    plan = plan_mutants(task)
    call = _Call(task, plan, show, began=began)
    problem, is_interrupted = "", False
    try:
        call.run(seconds=seconds, most=most, workers=workers)
    except BaselineError as error:
        problem = str(error)
    except KeyboardInterrupt:
        is_interrupted = True
    call.record()
    return replace(call.result(), problem=problem, is_interrupted=is_interrupted)


class _Call:
    """One call of the command: what it knows, and what it adds to that."""

    def __init__(self, task: Task, plan: Plan, show: Callable[[str], None], *, began: float) -> None:
        self._task, self._plan, self._show = task, plan, show
        self._began = self._kept_at = self._said_at = began
        #: The files that it speaks of.
        self._tree = task.tree.digest
        before = load_mutation(task)
        self._is_recorded = before is not None and before.key == plan.key
        if before is None or before.key != plan.key:
            before = Mutation(key=plan.key)
        self._known = {each.mutant.id: each for each in before.tried if each.verdict != "unknown"}
        self._baseline = before.baseline
        self._starts = 0
        #: Nothing may be said of these files: they can't be tried, or are not what they were.
        self._is_void = False

    def run(self, *, seconds: float, most: int | None, workers: int) -> None:
        waiting = [each for each in self._plan.mutants if each.id not in self._known][:most]
        if not waiting:
            return
        ground = self._plan.ground
        if self._baseline is None:
            self._show("mutants: the tests without any")
            self._starts += 1
            try:
                self._baseline = make_baseline(ground, seconds=seconds)
            except BaselineError:
                self._is_void = True
                raise
        ends_at = self._began + seconds
        workers = max(1, min(workers, len(waiting)))
        for tried in try_mutants(ground, self._baseline, waiting, workers=workers, ends_at=ends_at):
            self._starts += 1
            self._known[tried.mutant.id] = tried
            self._say(len(waiting))
            if time.monotonic() - self._kept_at > _KEPT_EVERY:
                self.record()

    def _say(self, number: int) -> None:
        if time.monotonic() - self._said_at > _SAID_EVERY:
            self._said_at = time.monotonic()
            survived = sum(each.verdict == "survived" for each in self._known.values())
            self._show(f"mutants: {self._starts} of {number} tried, {survived} survived")

    def result(self) -> Mutation:
        plan = self._plan
        tried = tuple(self._known[each.id] for each in plan.mutants if each.id in self._known)
        return Mutation(
            tried=() if self._is_void else tried,
            left=len(plan.mutants) - len(tried),
            baseline=self._baseline,
            key=plan.key,
            since=plan.since,
            excused=plan.excused,
            starts=self._starts,
            seconds=round(time.monotonic() - self._began, 2),
        )

    def record(self) -> None:
        """Write down what is known by now, if it still speaks of the files as they are."""
        if self._is_void or (self._is_recorded and not self._starts):
            return
        task = self._task
        if Task(task.project, task.store, task.state).tree.digest != self._tree:
            self._is_void = True
            raise NotAllowedError(
                "files were changed while mutants were tried: nothing is counted",
                remedy="phase-gate mutate, once the files stay as they are",
            )
        self._kept_at = time.monotonic()
        mutation = self.result()
        record = ExperimentRecord(
            tree=self._tree,
            object=task.store.keep(MUTATION, spell_out(mutation)),
            iteration=task.state.iteration,
            metrics=metrics_of(mutation),
            findings=tuple(spell_out_each(cap_findings(findings_of(mutation.survivors)))),
        )
        self._task = task.record(experimented(MUTATION, record, now()))


def metrics_of(mutation: Mutation) -> dict[str, MetricValue]:
    """Return the metrics; none as long as a mutant has no answer: it may be the one that survives."""
    if not mutation.is_whole:
        return {}
    return {
        "mutants_total": mutation.total,
        "mutants_killed": mutation.count("killed"),
        "mutants_survived": mutation.count("survived"),
        "mutants_timeout": mutation.count("timeout"),
    }


def findings_of(survivors: Iterable[Tried]) -> list[Finding]:
    return [
        Finding(
            slug="mutant-survived",
            tier="advisory",
            file=each.mutant.file,
            line=each.mutant.line,
            detail=f"no test notices {each.mutant.change}",
            proof=each.mutant.id,
        )
        for each in survivors
    ]
