"""The parsers of the project as one table: a function that takes bytes, and valid documents to make invalid ones from.

Only our own errors may come out of a parser. Where a parser promises more, its function asserts that, too.
"""

from __future__ import annotations

import functools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from phase_gate.agents.agent_table import load_agent, read_stop, read_tool, recognise
from phase_gate.agents.install import install_hooks
from phase_gate.agents.tools import find_file_writes, find_shell_paths
from phase_gate.claims.agent_output import read_claim_text, read_messages, sentences
from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.confidence import find_patterns, plan_is_ticked
from phase_gate.codec import from_json, to_json
from phase_gate.config.configuration import apply_overlay, load_configuration, parse_configuration
from phase_gate.config.criteria_files import read_criteria
from phase_gate.config.workflow_files import (
    load_shipped_guards,
    load_shipped_workflow,
    parse_guards,
    parse_workflow,
)
from phase_gate.errors import NotAllowedError, PhaseGateError
from phase_gate.evidence.documents.completeness import find_fault, find_missing
from phase_gate.evidence.documents.diagrams import Diagram, check_mermaid, find_in_file, find_on_page, is_c4, is_empty
from phase_gate.evidence.documents.library import read_markdown
from phase_gate.gate.breaker import blank
from phase_gate.gate.overrides import is_excuse
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.tasks.handins import parse_vote, read_executor_result, read_verdict
from phase_gate.tasks.task_files import lint_command, lint_done, parse_tasks
from phase_gate.tasks.verify_run import count_tests_in, first_failures
from phase_gate.tasks.work import TaskSpec
from phase_gate.visible import find_name_fault, find_unseen, name_key, show_text
from phase_gate.workflow.condition_parser import normalize
from phase_gate.workflow.conditions import evaluate
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.sections import Overlay

#: Seconds of the processor: what is linear needs one, what grows with the square needs minutes.
MAX_SECONDS = 20.0


class Parser(NamedTuple):
    read: Callable[[bytes], None]
    seeds: tuple[bytes, ...]

    def __call__(self, data: bytes) -> None:
        """Read the bytes; an error that is not ours, or too long a time, is a fault."""
        began = time.process_time()
        try:
            self.read(data)
        except PhaseGateError as error:
            if not (error.problem and error.remedy):
                raise AssertionError("an error names the problem and the remedy") from error
        spent = time.process_time() - began
        assert spent < MAX_SECONDS, f"{spent:.1f} s for {len(data)} bytes"


PARSERS: dict[str, Parser] = {}


def parser(*seeds: str | bytes) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Put a function into the table, with its valid documents."""

    def put(read: Callable[[bytes], None]) -> Callable[[bytes], None]:
        PARSERS[read.__name__.replace("_", "-")] = Parser(
            read, tuple(seed.encode() if isinstance(seed, str) else seed for seed in seeds)
        )
        return read

    return put


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@functools.cache
def temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="phase-gate-fuzz-")


def write(name: str, data: bytes) -> Path:
    path = Path(temporary().name, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


# --- rules ---------------------------------------------------------------------------------------------------------

_WORKFLOWS = Path(parse_workflow.__code__.co_filename).parents[1] / "workflows"


@parser(
    "tests_total > 0 AND (a == 1 OR NOT b != 'x') AND c",
    "d == -2.5 AND NOT (c OR a <= 1e3)",
    """b == 'say "a"' OR TRUE""",
)
def condition(data: bytes) -> None:
    read = normalize(text_of(data))
    evaluate(read, {"tests_total": 1, "a": None, "b": "text", "c": True, "d": 1.5})
    assert normalize(read) == read


@parser((_WORKFLOWS / "tdd.yaml").read_bytes())
def workflow(data: bytes) -> None:
    read = apply_overlay(parse_workflow(data, name="w.yaml", guards=load_shipped_guards()), Overlay())
    assert from_json(Workflow, json.loads(json.dumps(to_json(read)))) == read


@parser((_WORKFLOWS / "guards.yaml").read_bytes())
def guards(data: bytes) -> None:
    parse_guards(data, "guards.yaml")


@parser("""\
workflow: tdd
run: {exit: dual, confirm: true, criteria: 3, report: [a.json, b.md]}
parameters: {required_green_runs: 3}
metrics: {lint_errors: int}
guards:
  clean: {condition: lint_errors == 0, detail: "{lint_errors} left", remedy: fix them}
phases:
  GREEN: {condition: lint_errors <= 2, guards: [clean]}
lock_timeout: 2.5
freeze: [data/**]
""")
def configuration(data: bytes) -> None:
    apply_overlay(load_shipped_workflow("tdd"), parse_configuration(data).overlay)


@parser("""\
[project]
name = "shop"

[tool.phase-gate]
workflow = "tdd"
lock_timeout = 2.5
docs = ["*.md",
  'manual/**']
parameters.required_green_runs = 3

[tool.phase-gate.run]
exit = "dual"

[tool.phase-gate.phases.GREEN]
condition = '''
tests_skipped == 0
'''
""")
def pyproject(data: bytes) -> None:
    path = write("pyproject/pyproject.toml", data)
    apply_overlay(load_shipped_workflow("tdd"), load_configuration(path.parent).overlay)


@parser(
    "# A\n\n- [ ] AC-1 one\n- [x] **[AC-2](#two)**: two\n\n## AC-3: three ##\n\n| AC-4 | four |\n\n<!-- AC-5 -->\n"
    "```\n- [ ] AC-6\n```\n> - [ ] AC-7\n"
)
def criteria_markdown(data: bytes) -> None:
    _criteria(write("criteria.md", data))


@parser("criteria:\n  AC-1: one\n  AC-2: two\n", '[{"AC-1": "one"}, {"AC-2": null}]')
def criteria_yaml(data: bytes) -> None:
    _criteria(write("criteria.yaml", data))


def _criteria(path: Path) -> None:
    read = read_criteria(path.name, base=path.parent, root=path.parent)
    assert read.count == len(set(read.ids)) > 0


# --- what agents and people hand in ----------------------------------------------------------------------------------

#: As slow as the phrases that a project may set get.
_PATTERNS = ("all.*tasks.*completed", r"is done\b.*all.*a", ".*a.*b.*c.*")


@parser(
    "---PRP_PHASE_STATUS---\nPHASE: GREEN\nTESTS_TOTAL: 5\nDUAL_GATE:\n  GATE_1: true\nEXIT_SIGNAL: true\n"
    "---END_PRP_PHASE_STATUS---\n",
    'All tasks are completed. ```x``` "y"\n\n> quoted\n```\nfenced\n```\n---RALPH_STATUS---\nSTATUS: COMPLETE\n'
    "EXIT_SIGNAL: true\n---END_RALPH_STATUS---\nEXIT_STATUS: COMPLETE\nREMAINING_WORK: none\n@@ -1 +1 @@\n-a\n+b\n",
    "All tests pass, and all tasks are completed. It is  done! \u201ca b\u201d c\n",
    # Sentences just under the cap for one.
    "\n".join(f"{number} is done all {'all a tests pass ' * 34}" for number in range(40)),
    "\n".join(f"{number} {'ready for review done ' * 26}but" for number in range(40)),
)
def claim(data: bytes) -> None:
    read = read_claim_text([text_of(data)])
    prose = sentences(read, read_blocks(read).reasons)
    assert len(find_patterns(_PATTERNS, prose)) == len(_PATTERNS)


@parser("# Plan\n\n- [x] one\n  * [ ] two\n1. [X] three\n")
def plan(data: bytes) -> None:
    plan_is_ticked(text_of(data))


@parser(
    '{"type": "user", "message": {"role": "user", "content": "go"}}\n'
    '{"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}]}}\n'
    '{"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}\n'
)
def transcript(data: bytes) -> None:
    read_messages(text_of(data))


@parser("exit_signal: true\nphase: GREEN\niteration: 5\nreason: all done\nremaining_work: none\nby: alice\n")
def signal(data: bytes) -> None:
    found = read_signal_file(write("exit-signal.yaml", data))
    assert found is not None
    assert (found.answer in ("malformed", "refused")) == bool(found.problem)


@parser("cd a && cat > 'b c' <<EOF\nx\nEOF\nsed -i s/a/b/ \"d\" | tee -a e; $(rm f) `mv g h` # i\n")
def shell(data: bytes) -> None:
    assert not any(path.startswith("-") for path in find_shell_paths(text_of(data)))


@parser(
    '{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "a > b"}, "cwd": "c"}',
    '{"hook_event_name": "Stop", "stop_hook_active": true, "workspace_roots": ["a"]}',
    '{"tool_name": "Edit", "tool_input": {"file_path": "a", "old_string": "b", "new_string": "c"}}',
)
def hook_event(data: bytes) -> None:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return  # as the hook does
    if isinstance(event, dict):
        recognise(event)
        read_stop(event)
        find_file_writes(read_tool(event), root=Path("/nowhere"), start=Path("/nowhere"))


@parser('{"a": [1, -2.5e3, "b\\"", null], "hooks": {"e": []}}\n')
def settings_file(data: bytes) -> None:
    try:
        install_hooks(load_agent("claude"), text_of(data))
    except NotAllowedError:
        return


@parser("vote: approve\nconfidence: 0.9\nby: ann\nreason: it is fine\n")
def vote(data: bytes) -> None:
    parse_vote(data, "vote.yaml")


@parser(
    '<plan wave="w1">\n<task type="auto"><name>Task 3: A</name><files>a.py, b.py</files><action>c</action>'
    "<verify>a && b 2>&1</verify><done>5 <![CDATA[<tests>]]> pass</done><wave>w1</wave>"
    "<depends_on>b</depends_on></task></plan>",
    "name: a\nfiles: [a.py, src/]\naction: b\nverify: pytest a\ndone: 5 tests pass\ntimeouts: {verify: 60}\n",
    "- {name: a, wave: w, files: b, action: c, verify: d, done: e, flaky: accepted, flaky_reason: f}\n",
)
def task(data: bytes) -> None:
    for spec in parse_tasks(data, "task"):
        assert from_json(TaskSpec, json.loads(json.dumps(to_json(spec)))) == spec


@parser("cd a && pytest -q \"b c\" 'd' && echo e", "A=1 npm test -- x && ! grep -q y z")
def verify_command(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assert all(len(flag) < 1000 for flag in (lint_command(text), lint_done(text)))


@parser(
    "-a",
    "==== 5 passed, 1 skipped in 0.1s ====\nRan 3 tests in 0.1s\n\nOK (skipped=1)\nTests:  1 failed, 2 total\n",
    "E   AssertionError: /tmp/a/b.py:3 pid = 12 at 0x7f 12:30:01 2026-01-01T01:02:03Z 3.5 s tmpabcdef\n",
    "FAILED a.py::b - error\nit works, done -- ok\n",
)
def output(data: bytes) -> None:
    text = text_of(data)
    assert (count_tests_in(text) or 0) >= 0
    assert len(first_failures(text)) <= 20
    blank(text)
    is_excuse(text)


@parser(
    "status: success\ntask_name: a\nfiles_modified: [b]\nverification: {command: c, exit_code: 0}\n"
    "done_criteria_met: true\nevidence: |\n  d\nerror: null\n",
    "status: blocked\ntask_name: a\nerror: b\nblocked_by: c\n",
)
def executor_result(data: bytes) -> None:
    read_executor_result(data, "result.yaml")


@parser(
    "verdict: APPROVED\ntask_name: a\nconfidence: HIGH\nfindings: [b]\nconcerns: []\nrecommendation: commit\n",
    "verdict: REJECTED\ntask_name: a\nconfidence: LOW\nfindings:\n- b\nrecommendation: retry\nfeedback: c\n",
)
def verdict(data: bytes) -> None:
    read_verdict(data, "verdict.yaml")


@parser("a\x1b[2J \u202e ::error:: ##[x] \u2714\ufe0f \u200b\n\r\u0645\u200c\u062e")
def shown_text(data: bytes) -> None:
    seen = show_text(text_of(data))
    assert show_text(seen) == seen
    assert find_unseen(seen, but="\n\t") is None
    name_key(seen)
    find_name_fault(seen)


# --- documents -------------------------------------------------------------------------------------------------------


@parser(
    "---\nstatus: x\n---\n\n# A {#b}\n\n## Status\n\nAccepted\n\n| a | b |\n| --- | --- |\n| [c](d.md#e) | TODO |\n",
    "> - ```{mermaid}\n>   :a: b\n>   pie\n",
    "::: mermaid\npie\n:::\n\n[r]: <a b.md>\n[x][r] ![y](z.png) <b>\n\n    code\n",
)
def markdown(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    page = read_markdown(text)
    lines = text.count("\n") + text.count("\r") + 1
    assert all(1 <= piece.line <= lines for piece in page.pieces)
    find_fault(page, minimum_words=20)
    find_missing(page)
    assert all(1 <= diagram.line <= lines + 1 for diagram in find_on_page(page, "docs/a.md"))


@parser(
    "flowchart TD\n subgraph a\n  A[x] -->|y| B{z}\n end\n %% c\n style A fill:#fff\n",
    "sequenceDiagram\n participant A\n loop x\n  A->>+B: y\n end\n Note over A,B: z\n",
    "erDiagram\n A ||--o{ B : has\n A {\n  int id PK\n }\n",
    'C4Context\n Boundary(a, "x") {\n  Person(b, "y")\n }\n Rel(b, a, "z")\n',
    '%%{init: {"a": 1}}%%\npie\n "a": 1\n',
)
def mermaid(data: bytes) -> None:
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    diagram = Diagram(file="a.mmd", line=1, language="Mermaid", text=text)
    (checked,) = check_mermaid([diagram])
    assert checked.unknown == ""
    assert not checked.flaw or 1 <= checked.line <= text.count("\n") + 1
    is_c4(diagram)
    is_empty(diagram)


@parser('@startuml\n!include <C4/C4_Context>\n\' c\nPerson(a, "b")\n@enduml\n', "workspace {\n  \n}")
def other_diagrams(data: bytes) -> None:
    for diagram in find_in_file(data.decode("utf-8", "replace"), "a.puml"):
        is_c4(diagram)
        is_empty(diagram)
