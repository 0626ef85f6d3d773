"""One function a parser: give it bytes, and only our own errors may come out.

Shared by the Hypothesis tests of the suite and by `python -m tests.fuzz`, which lets inputs grow. Each target comes
with valid documents, from which both make invalid ones.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.decision import ClaimContext, Threshold, decide
from phase_gate.claims.show import decision_to_json
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.claims.transcripts import read_transcript
from phase_gate.cli.history import _event_rows, _rows, _set_aside, collect_runs
from phase_gate.config.configuration import parse_configuration
from phase_gate.config.criteria import read_criteria
from phase_gate.config.files import apply_overlay, load_shipped_guards, load_shipped_workflow
from phase_gate.config.workflow import parse_guards, parse_workflow
from phase_gate.errors import PhaseGateError, TamperedError
from phase_gate.gate.standing import assess
from phase_gate.gate.state import Event
from phase_gate.storage.files import REAL
from phase_gate.storage.ledger import GENESIS, encode_transaction, parse_line
from phase_gate.storage.lock import hold_lock, holder_file
from phase_gate.storage.memory import Memory
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.storage.store import TaskStore
from phase_gate.storage.tree.contents import Contents
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.model_json import workflow_from_json, workflow_to_json
from phase_gate.workflow.settings import ConfidenceRules, ExitGate, Overlay
from tests.fuzz import document_targets, text_targets, verification_targets

_WORKFLOWS = Path(parse_workflow.__code__.co_filename).parents[1] / "workflows"

#: No document of this size may keep a parser busy for longer: seconds of its own, however busy the machine is.
MAX_SECONDS = 20.0


class Target(NamedTuple):
    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]

    def __call__(self, data: bytes) -> None:
        """Run the parser; anything but our own errors, or too long a time, is a fault."""
        began = time.process_time()
        try:
            self.run(data)
        except PhaseGateError as error:
            if not (error.problem and error.remedy):
                raise AssertionError("an error says what is wrong, and what to do") from error
        spent = time.process_time() - began
        assert spent < MAX_SECONDS, f"{self.name}: {spent:.1f} s for {len(data)} bytes"


@cache
def _folder() -> Path:
    """A folder of this process, which goes with it."""
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="phase-gate-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# --- text ------------------------------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _condition(data: bytes) -> None:
    condition = parse_condition(_text(data))
    condition.evaluate({"tests_total": 1, "a": None, "b": "text", "c": True, "d": 1.5})
    # What we write ourselves has to be readable, and to mean the same.
    assert parse_condition(condition.text).text == condition.text


def _workflow(data: bytes) -> None:
    workflow = apply_overlay(parse_workflow(data, name="w.yaml", guards=load_shipped_guards()), Overlay())
    assert workflow_from_json(json.loads(json.dumps(workflow_to_json(workflow)))) == workflow


def _guards(data: bytes) -> None:
    parse_guards(data, "guards.yaml")


def _configuration(data: bytes) -> None:
    apply_overlay(load_shipped_workflow("tdd"), parse_configuration(data).overlay)


def _criteria(data: bytes, name: str) -> None:
    (_folder() / name).write_bytes(data)
    criteria = read_criteria(name, base=_folder(), root=_folder())
    assert criteria.count == len(set(criteria.ids)) > 0


def _criteria_markdown(data: bytes) -> None:
    _criteria(data, "criteria.md")


def _criteria_yaml(data: bytes) -> None:
    _criteria(data, "criteria.yaml")


def _status_block(data: bytes) -> None:
    read_blocks(read_claim_text([_text(data)]))


def _claim(data: bytes) -> None:
    read = read_claim_text([_text(data)])
    said = read_blocks(read)
    decision = decide(
        said,
        sentences(read, said.reasons),
        ClaimContext(at="2026-01-01T00:00:00Z"),
        ExitGate(),
        ConfidenceRules(),
        Threshold(),
    )
    assert not decision.passed or said.explicit is True
    json.dumps(decision_to_json(decision))


def _transcript(data: bytes) -> None:
    read_transcript(_text(data))


def _signal(data: bytes) -> None:
    path = _folder() / "exit-signal.yaml"
    path.write_bytes(data)
    found = read_signal_file(path)
    assert found is not None
    assert (found.signal is None) == bool(found.problem)


# --- stored documents ------------------------------------------------------------------------------------------------


def _ledger_line(data: bytes) -> None:
    try:
        parse_line(data)
    except ValueError as error:  # that is what it says it raises
        if type(error) not in (ValueError, json.JSONDecodeError, UnicodeDecodeError):
            raise AssertionError("another error") from error


def look_at(store: TaskStore) -> None:
    """Do all that the commands do which only look."""
    opened = store.look()
    assess(opened.state, tree="", at="2026-01-01T00:00:00.000Z")
    overrides: list[dict[str, Any]] = []
    runs = collect_runs(_set_aside(store.lines(), overrides), "default", lost=store.lost_runs(opened.state))
    list(_rows(runs, overrides))
    list(_event_rows(store.lines()))
    store.check_objects(opened.state)


@cache
def _store() -> TaskStore:
    """A task with a few events of every common kind."""
    store = TaskStore(_folder() / "store", task="default")
    name = store.objects.keep({})
    for kind, data in _EVENTS[:-1]:
        named = {each: name if each in ("inventory", "outcomes", "known") else value for each, value in data.items()}
        with store.transaction() as change:
            change.record(Event(kind=kind, data=named))
    return store


def _state_file(data: bytes) -> None:
    """The ledger is as it was, so that what is changed in the file is all that differs."""
    good = _store()
    good.state_file.write_bytes(data)
    look_at(good)


def _ledger_file(data: bytes) -> None:
    folder = _folder() / "ledger"
    folder.mkdir(exist_ok=True)
    (folder / "ledger.jsonl").write_bytes(data)
    look_at(TaskStore(folder, task="default"))


def forge(events: list[tuple[str, Any]]) -> bytes:
    """Return a ledger whose hashes are right: whoever can write the file can also compute them."""
    out, seq, prev = bytearray(), 0, GENESIS
    for kind, data in [("created", {"task": "default", "lineage": "0" * 32, "key_check": None}), *events]:
        event = Event(kind=kind, data=data, at="2026-01-01T00:00:00.000Z")
        raw, line = encode_transaction([event], seq=seq + 1, prev=prev, state_digest="", key=None)
        out, seq, prev = out + raw, line.seq, line.hash
    return bytes(out)


def _forged_ledger(data: bytes) -> None:
    """Bytes are read as a list of pairs, kind and data; what is no such list is no test."""
    try:
        events = [(kind, dict(values)) for kind, values in json.loads(data) if isinstance(kind, str)]
        raw = forge(events)
    except (ValueError, TypeError, RecursionError):
        return
    _ledger_file(raw)


def _memory(data: bytes) -> None:
    path = _folder() / "memory.json"
    path.write_bytes(data)
    memory = Memory(path, _folder())
    seen = memory.recall()
    assert seen is None or isinstance(seen.serial, int)
    store = _good_store()
    TaskStore(store.folder, task="default", memory=memory).look()


@cache
def _good_store() -> TaskStore:
    from tests.storage.stores import begin, open_store

    return begin(open_store(_folder() / "good"))


def _tree_cache(data: bytes) -> None:
    root = _folder() / "tree"
    root.mkdir(exist_ok=True)
    (root / "a.py").write_bytes(b"A = 1\n")
    cache_file = root / "cache.json"
    cache_file.write_bytes(data)
    assert Contents(str(root), cache_file).find("a.py") == Contents(str(root)).find("a.py")


def _object_file(data: bytes) -> None:
    """The content is anything, under the right name and under a wrong one."""
    import hashlib

    folder = _folder() / "objects"
    folder.mkdir(exist_ok=True)
    try:
        plain = zlib.decompressobj().decompress(data, 1 << 20)
    except zlib.error:
        plain = data
    for name in (hashlib.sha256(plain).hexdigest(), "0" * 64):
        path = folder / f"{name}.z"
        path.write_bytes(data)
        try:
            ObjectStore(folder, REAL).load(name)
        except TamperedError:
            continue
        finally:
            path.unlink()


def _object_name(data: bytes) -> None:
    ObjectStore(_folder() / "objects", REAL).load(_text(data))


def _holder(data: bytes) -> None:
    """Who holds a lock is told to whoever waits for it in vain, whatever stands in the file."""
    path = _folder() / "held.lock"
    with hold_lock(path):
        holder_file(path).write_bytes(data)
        with hold_lock(path, timeout=0):
            raise AssertionError("it was held twice")


def _canonical(document: object) -> bytes:
    return json.dumps(document).encode()


_BLOCK = b"""---PRP_PHASE_STATUS---
PHASE: GREEN
ITERATION: 2
TESTS_TOTAL: 5
TESTS_PASSING: 5
TESTS_FAILING: 0
REASON: "both gates are open"

DUAL_GATE:
  GATE_1: true
  GATE_1_DETAIL: "tests_total: 5"
  GATE_2: true
  CAN_EXIT: true

EXIT_SIGNAL: true
---END_PRP_PHASE_STATUS---
"""
_CLAIM = b"""\
All tasks are completed. ```x``` "y"

> quoted
```
fenced
```
---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---
EXIT_STATUS: COMPLETE
REMAINING_WORK: none
DOYAKEN_STATUS:
  PHASE_COMPLETE: true
  FILES_MODIFIED: 1
  TESTS_STATUS: pass
  CONFIDENCE: high
  REMAINING_WORK: none
@@ -1 +1 @@
-a
+b
"""
_TRANSCRIPT = (
    b'{"type": "user", "message": {"role": "user", "content": "go"}}\n'
    b'{"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}]}}\n'
    b'{"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}\n'
)
_SIGNAL = b"exit_signal: true\nphase: GREEN\niteration: 5\nreason: all done\nremaining_work: none\nby: alice\n"
_CRITERIA = b"criteria:\n  AC-1: one\n  AC-2: {text: two}\n"

_MARKDOWN = b"""\
# Years

- [ ] AC-1 one
- [x] **[AC-2](#two)**: two

## AC-3: three ##

| AC-4 | four | test |

<!-- - [ ] AC-5 -->
```
- [ ] AC-6
```
> - [ ] AC-7
"""

_CONFIGURATION = b"""\
workflow: tdd
run: {exit: dual, confirm: true, criteria: 3, report: [a.json, b.md]}
parameters: {required_green_runs: 3}
metrics: {lint_errors: int}
guards:
  clean: {condition: lint_errors == 0, detail: "{lint_errors} left", remedy: fix them}
phases:
  GREEN: {condition: lint_errors <= 2, guards: [clean]}
overrides: {allow_non_interactive: true}
lock_timeout: 2.5
docs: ["*.md"]
freeze: [data/**]
"""
_CONDITION = (
    b"tests_total > 0 AND (a == 1 OR NOT b != 'x') AND c",
    b"d in [1, 2.5, -3] && !(c || a <= 1e3)",
    b'b == "say \\"a\\"" OR a == null',
)
_EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("cycle-began", {"workflow": "tdd", "cycle": 1, "baseline": None, "run": "r"}),
    ("phase-entered", {"phase": "GREEN", "how": "begin", "run": "r"}),
    (
        "run-started",
        {"run": "r", "phase": "GREEN", "tree": "t", "rules": None, "arguments": [], "python": "3", "pytest": "9"},
    ),
    (
        "run-ended",
        {
            "run": "r",
            "kind": "complete",
            "green": "green",
            "tree": "t",
            "iteration": 1,
            "metrics": {"a": 1},
            "inventory": "i",
            "outcomes": "o",
            "known": "k",
            "findings": [],
            "notes": [],
            "why": "",
            "exit_status": 0,
            "tally": {"passed": 1},
            "duration_s": 0.1,
        },
    ),
    (
        "evaluated",
        {
            "evaluation": {
                "phase": "GREEN",
                "iteration": 1,
                "run": "r",
                "can_exit": True,
                "reason": "so",
                "status": "closed",
                "next_command": "go",
                "next_hint": "",
                "gate_1": {"open": True},
                "gate_2": {"open": True},
                "metrics": {},
            }
        },
    ),
    ("signal-spent", {"premature": False}),
    ("phase-exited", {"phase": "GREEN", "next": "REFACTOR", "freezes": True, "forced": False}),
    ("fact-declared", {"name": "f", "value": True, "reason": "r", "by": "b"}),
    ("fact-withdrawn", {"name": "f"}),
    ("waived", {"guard": "g", "findings": ["x"], "reason": "r", "by": "b", "expires": ""}),
    ("baseline-taken", {"inventory": "i", "outcomes": "o"}),
    (
        "run-started",
        {"run": "s", "phase": "RED", "tree": "t", "rules": None, "arguments": [], "python": "", "pytest": ""},
    ),
    ("run-lost", {"run": "s"}),
    ("repaired", {"kept_lines": 1}),
]


def _stored_seeds() -> tuple[bytes, bytes, tuple[bytes, ...]]:
    store = _store()
    ledger = store.ledger_file.read_bytes()
    return store.state_file.read_bytes(), ledger, tuple(ledger.splitlines())


@cache
def all_targets() -> dict[str, Target]:
    """Return every target by its name."""
    state, ledger, lines = _stored_seeds()
    tdd, guards = ((_WORKFLOWS / name).read_bytes() for name in ("tdd.yaml", "guards.yaml"))
    memory = _canonical({"folder": "f", "lineage": "l", "serial": 3, "head": "h", "cycle_is_open": False})
    cached = _canonical({"schema": 1, "written_ns": 2**62, "files": {"a.py": [6, 1, 2, 3, "0" * 64], "b.py": []}})
    holder = _canonical({"pid": 1, "host": "h", "since": "now", "command": "pytest"})
    found = (
        Target("condition", _condition, _CONDITION),
        Target("workflow", _workflow, (tdd,)),
        Target("guards", _guards, (guards,)),
        Target("configuration", _configuration, (_CONFIGURATION,)),
        Target("criteria-markdown", _criteria_markdown, (_MARKDOWN,)),
        Target("criteria-yaml", _criteria_yaml, (_CRITERIA, b'[{"id": "AC-1"}, "AC-2 b"]')),
        Target("status-block", _status_block, (_BLOCK,)),
        Target("claim", _claim, (_CLAIM, _BLOCK)),
        Target("transcript", _transcript, (_TRANSCRIPT,)),
        Target("signal", _signal, (_SIGNAL,)),
        Target("ledger-line", _ledger_line, lines),
        Target("ledger", _ledger_file, (ledger, forge(_EVENTS))),
        Target("forged-ledger", _forged_ledger, (_canonical(_EVENTS),)),
        Target("state", _state_file, (state,)),
        Target("memory", _memory, (memory,)),
        Target("tree-cache", _tree_cache, (cached,)),
        Target("object", _object_file, (zlib.compress(b'{"files": {}}', 1),)),
        Target("object-name", _object_name, (b"0" * 64, b"../state.json")),
        Target("lock-holder", _holder, (holder,)),
        Target("document-markdown", document_targets.markdown, document_targets.MARKDOWN),
        Target("diagram-mermaid", document_targets.mermaid, document_targets.MERMAID),
        Target("diagrams", document_targets.other_diagrams, document_targets.OTHERS),
        *(Target(*row) for row in text_targets.ROWS),
        Target("task", verification_targets.tasks, verification_targets.TASKS),
        Target("executor-result", verification_targets.executor_result, verification_targets.RESULTS),
        Target("verdict", verification_targets.verdict, verification_targets.VERDICTS),
        Target("verify-command", verification_targets.command, verification_targets.COMMANDS),
        Target("verify-output", verification_targets.output, verification_targets.OUTPUTS),
    )
    return {target.name: target for target in found}
