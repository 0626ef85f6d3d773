"""Files of the verification gate: whatever a task, a report or a command line is, reading it ends soon and plainly."""

from __future__ import annotations

import json

import jsonschema

from phase_gate.codec import from_json, to_json
from phase_gate.evidence.process.output import Blotter
from phase_gate.storage.places import task_folder
from phase_gate.tasks.handins import read_executor_result, read_verdict, result_to_json, verdict_to_json
from phase_gate.tasks.lint import lint_command, lint_done
from phase_gate.tasks.model import TaskSpec
from phase_gate.tasks.task_files import parse_tasks
from phase_gate.tasks.weighing import count_tests_said
from tests.conftest import ROOT

_SCHEMAS = ROOT / "src" / "phase_gate" / "schemas"


def _validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((_SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")))


_RESULT, _VERDICT, _TASK = (_validator(name) for name in ("executor-result", "verdict", "task"))


def tasks(data: bytes) -> None:
    found = parse_tasks(data, "task")
    assert found
    for spec in found:
        task_folder(ROOT, spec.slug)
        assert from_json(TaskSpec, json.loads(json.dumps(to_json(spec)))) == spec
        lint_command(spec)
        lint_done(spec)


def executor_result(data: bytes) -> None:
    result = read_executor_result(data, "result.yaml")
    document = result_to_json(result)
    assert _RESULT.is_valid(document)
    # What we keep of it can be read again, and says the same. (JSON is YAML.)
    assert read_executor_result(json.dumps(document, ensure_ascii=False), "again") == result


def verdict(data: bytes) -> None:
    read = read_verdict(data, "verdict.yaml")
    document = verdict_to_json(read)
    assert _VERDICT.is_valid(document)
    assert read_verdict(json.dumps(document, ensure_ascii=False), "again") == read


def command(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for shell in (True, False):
        spec = TaskSpec(name="a", files=(), action="b", verify=text, done=text, shell=shell)
        for opinion in (*lint_command(spec), *lint_done(spec)):
            assert opinion.text
            assert len(opinion.text) < 1000


def output(data: bytes) -> None:
    count = count_tests_said(data.decode("utf-8", "replace"))
    assert count is None or count >= 0
    blotter = Blotter((b"passed", b"passed in", b"tests r"))
    shown = b"".join(
        [*(blotter.feed(data[at : at + 7]) for at in range(0, min(len(data), 50_000), 7)), blotter.finish()]
    )
    assert b"passed" not in shown


TASKS = (
    b'<plan wave="w1">\n<task type="auto"><name>Task 3: A</name><files>a.py, b.py</files><action>c</action>'
    b'<verify shell="true">a && b 2>&1</verify><done>5 <![CDATA[<tests>]]> pass</done><timeouts verify="60"/>'
    b'<flaky reason="x">accepted</flaky><depends_on><task>b</task></depends_on></task></plan>',
    b"name: a\nfiles: [a.py, src/]\naction: b\nverify: pytest a\ndone: 5 tests pass\ntimeouts: {verify: 60}\n",
    b"wave: w\ntasks:\n- {name: a, files: b, action: c, verify: d, done: e, flaky: accepted, flaky_reason: f}\n",
)
RESULTS = (
    b"status: success\ntask_name: a\nfiles_modified: [b]\nverification: {command: c, exit_code: 0}\n"
    b"done_criteria_met: true\nevidence: |\n  d\nerror: null\n",
    b"status: blocked\ntask_name: a\nerror: b\nblocked_by: c\n",
)
VERDICTS = (
    b"verdict: APPROVED\ntask_name: a\nconfidence: HIGH\nfindings: [b]\nconcerns: []\nrecommendation: commit\n",
    b"verdict: REJECTED\ntask_name: a\nconfidence: LOW\nfindings:\n- b\nrecommendation: retry\nfeedback: c\n"
    b"attempt: 2\n",
)
COMMANDS = (
    b"cd a && (pytest -q \"b c\" | tee 'd') || { echo $(e); exit 1; }",
    b"if [ -f a ]; then bash -ec 'x; y' & else z; fi",
    b"for a in b; do uv run python -m pytest $a; done; A=1 npm test -- x > y 2>&1 # c",
    b"[[ a == b && c ]] ; case x in y) z;; esac",
)
OUTPUTS = (
    b"==== 5 passed, 1 skipped in 0.1s ====\nRan 3 tests in 0.1s\n\nOK (skipped=1)\nTests:  1 failed, 2 total\n",
    b"test result: ok. 1 passed; 0 failed;\n--- PASS: A\nok  \ta\t0.1s [no tests to run]\n  2 passing (3ms)\n",
)
