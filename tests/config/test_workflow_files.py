"""Workflow files: what loads and to what, what is refused and where."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from _pytest.mark import ParameterSet

import phase_gate
from phase_gate.codec import to_json
from phase_gate.config.documents import read_documents
from phase_gate.config.reading import Items, Node, Table
from phase_gate.config.workflow_files import (
    load_shipped_guards,
    load_shipped_workflow,
    load_workflow,
    parse_guards,
    parse_workflow,
    shipped_workflow_names,
)
from phase_gate.errors import PhaseGateError, WorkflowError
from phase_gate.values import replace
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import Guard, Workflow, name_rules

PACKAGE = Path(phase_gate.__file__).parent
SEED_GATES = Path(__file__).parent.parent / "data" / "dual-gate.yaml"
GUARDS = load_shipped_guards()
#: Without those that only a pipeline can measure: no other workflow carries them along.
USUAL = {name: guard for name, guard in GUARDS.items() if guard.names.isdisjoint(PIPELINE_METRICS)}

SMALL = """\
workflow: small
phases:
  WORK:
    gate_1:
      name: Works
      condition: tests_total > 0 AND tests_failing == 0
      guards: [complete-run]
"""

FULL = """\
workflow: full
start: first
parameters: {needed: 3, ratio: 0.5, strict: true, mode: "fast"}
facts: {agreed: bool, votes: int, weight: number, note: text}
metrics: {mutants_alive: int}
guards:
  no-mutants:
    condition: mutants_alive == 0
    remedy: kill
      the mutants
    detail: "{mutants_alive} of {needed} are alive"
phases:
  Build:
    purpose: >
      Something
      stands
    tests: failing
    scope: targets
    gate_1:
      name: Built
      condition: tests_total >= needed AND (agreed OR votes > 1 OR note == mode)
      guards:
        - complete-run
        - no-mutants
        - complete-run
      rationale: because
    gate_2: exit_signal == TRUE
    exit_allowed: {when: (gate_1 == true) and (gate_2 == true)}
    next: ship
    may_end_cycle: true
  polish:
    gate_1: {name: Polished, condition: tests_failing == 0}
    gate_2: {name: Signal, condition: exit_signal == true, rationale: asked for}
    next: done
  SHIP:
    tests: none
    gate_1: {name: Shipped, condition: docs_generated >= needed}
    next: POLISH
"""


def parse(text: str | bytes, **extra: MetricType) -> Workflow:
    return parse_workflow(text, name="own.yaml", guards=GUARDS, extra_metrics=extra)


def refusal_of(text: str | bytes, error: type[PhaseGateError] = WorkflowError, **extra: MetricType) -> PhaseGateError:
    with pytest.raises(error) as caught:
        parse(text, **extra)
    return caught.value


# Shipped files


@pytest.mark.parametrize("name", shipped_workflow_names())
def test_every_shipped_workflow_loads(name: str, tmp_path: Path) -> None:
    assert load_shipped_workflow(name).name == name
    assert load_workflow(name, root=tmp_path) == load_shipped_workflow(name)


# Our own form


def test_a_small_file_gets_the_defaults() -> None:
    workflow = parse(SMALL)
    (phase,) = workflow.phases
    assert (workflow.name, workflow.start) == ("small", "any")
    assert (workflow.parameters, workflow.facts, workflow.metrics) == ({}, {}, {})
    assert (phase.name, phase.next, phase.tests, phase.scope) == ("WORK", "DONE", "passing", "suite")
    assert (phase.purpose, phase.may_end_cycle) == ("", False)
    assert phase.gate_1.guards == ("complete-run",)
    assert not phase.gate_1.replaced
    assert workflow.guards == USUAL


def test_a_full_file_keeps_every_word() -> None:
    workflow = parse(FULL)
    build, polish, ship = workflow.phases
    assert (workflow.name, workflow.start) == ("full", "first")
    assert workflow.parameters == {"needed": 3, "ratio": 0.5, "strict": True, "mode": "fast"}
    assert workflow.facts == {"agreed": "bool", "votes": "int", "weight": "number", "note": "text"}
    assert workflow.metrics == {"mutants_alive": "int"}
    assert workflow.guards["no-mutants"] == Guard(
        name="no-mutants",
        condition="mutants_alive == 0",
        remedy="kill the mutants",
        detail="{mutants_alive} of {needed} are alive",
    )
    assert (build.name, build.purpose, build.tests, build.scope) == ("BUILD", "Something stands", "failing", "targets")
    assert (build.gate_1.name, build.gate_1.rationale) == ("Built", "because")
    assert build.gate_1.guards == ("complete-run", "no-mutants")
    assert (build.next, ship.next, polish.next) == ("SHIP", "POLISH", "DONE")
    assert (build.may_end_cycle, ship.may_end_cycle) == (True, False)


def read_table(table: str) -> list[ParameterSet]:
    """Return rows of: an id | what is done to the small file | where it is refused, and why | what to do.

    `+` adds lines, `=` is another file, `OLD -> NEW` replaces; `/` stands for a line end.
    """
    rows = []
    for line in table.strip().splitlines():
        name, change, refused, remedy = (part.strip(" ") for part in line.split(" | "))
        change = change.replace("/", "\n")
        if change[0] in "+=":
            text = (SMALL if change[0] == "+" else "") + change[2:]
        else:
            old, _, new = change.partition(" -> ")
            text = SMALL.replace(old, new)
        place, _, problem = refused.partition(" ")
        rows.append(pytest.param(text, place, problem, remedy.strip("`"), id=name))
    return rows


#: What a schema refuses too.
WRONG_STRUCTURE = read_table("""\
    name-with-a-colon | small -> 'a:b' | 1:11 can't be named 'a:b' | letters
    no-name | workflow: small -> # | 2:1 the key 'workflow' is missing | add it
    no-phases-key | = workflow: a | 1:1 the key 'phases' is missing | add it
    no-phases | = workflow: a/phases: {} | 2:9 there are no phases | at least one
    phases-in-a-list | = workflow: a/phases: [RED] | 2:9 phases has to be a mapping, not a list | key: value
    a-text | = just text | 1:1 the file has to be a mapping, not 'just text' | key: value
    unknown-key | + phasse: 1 | 8:1 unknown key 'phasse' | use one of: phases,
    unknown-key-in-a-phase | +     gate_3: 1 | 8:5 unknown key 'gate_3' in phases.WORK | gate_
    start-that-is-no-choice | + start: last | 8:8 start can't be 'last' | first
    tests-that-is-no-choice | +     tests: red | 8:12 phases.WORK.tests can't be 'red' | failing
    phase-named-auto | WORK -> auto | 3:3 the name AUTO is reserved | another name
    phase-with-a-dash | WORK -> RED-2 | 3:3 can't be named 'RED-2' | letters
    no-gate-1 | = workflow: a/phases:/  A: {purpose: x} | 3:6 the key 'gate_1' is missing in phases.A | add it
    gate-without-name | name: Works -> rationale: x | 5:7 the key 'name' is missing | add it
    gate-without-condition | condition -> rationale | 5:7 the key 'condition' is missing | add it
    guards-without-brackets | [complete-run] -> complete-run | 7:15 has to be a list | [one, two]
    fact-in-upper-case | + facts: {Agreed: bool} | 8:9 can't be named 'Agreed' | lower case
    unknown-type | + facts: {a: boolean} | 8:12 facts.a can't be 'boolean' | bool
    parameter-of-nothing | + parameters: {a: } | 8:14 parameters.a has no value | a number
    guard-in-upper-case | + guards: {Me: {condition: iteration > 0, remedy: x}} | 8:10 can't be named 'Me' | lower case
    guard-without-remedy | + guards: {mine: {condition: iteration > 0}} | 8:16 the key 'remedy' is missing | add it
    gate-2-without-condition | +     gate_2: {name: x} | 8:13 the key 'condition' is missing in phases.WORK | add it
    gate-2-with-guards | +     gate_2: {condition: exit_signal == true, guards: []} | 8:46 unknown key 'guards' | name
""")

#: Names and conditions: what only the loader knows.
WRONG_MEANING = read_table("""\
    next-that-is-no-phase | +     next: WROK | 8:11 'WROK' can't follow WORK | use one of: DONE
    next-that-is-the-phase-itself | +     next: work | 8:11 'WORK' can't follow WORK | DONE
    condition-cut-short | tests_failing == 0 -> tests_failing == | 6:18 column | write
    condition-that-calls | tests_failing == 0 -> os.system('x') | 6:18 condition | plain name
    unknown-metric | tests_failing -> test_failing | 6:18 unknown name 'test_failing' | use one of: tests_failing,
    mixed-types | tests_failing == 0 -> tests_failing == true | 6:18 int | number
    signal-in-gate-1 | tests_failing == 0 -> exit_signal | 6:18 exit_signal is known in gate_2 | metrics
    gate-that-is-always-open | tests_total > 0 AND tests_failing == 0 -> 'true' | 6:18 measures nothing | at least one
    unknown-guard | complete-run -> complet-run | 7:16 unknown guard 'complet-run' | use one of: complete-run,
    fact-that-is-measured | + facts: {tests_total: int} | 8:9 tests_total is a measured metric already | of its own
    fact-that-is-an-alias | + facts: {no_improvements_found: bool} | 8:9 another spelling | of its own
    fact-that-is-the-signal | + facts: {exit_signal: bool} | 8:9 a name of the gates | of its own
    fact-and-parameter | + facts: {a: bool}/parameters: {a: 1} | 9:14 a is a fact already | of its own
    fact-and-metric | + facts: {a: bool}/metrics: {a: int} | 8:9 a is a metric already | of its own
    shipped-guard | + guards: {complete-run: {condition: iteration > 0, remedy: x}} | 8:10 exists already | another name
    unknown-in-detail | + guards: {a: {condition: iteration > 0, remedy: x, detail: '{b}'}} | 8:10 in the detail | use
    lone-brace | + guards: {a: {condition: iteration > 0, remedy: x, detail: 'a } b'}} | 8:10 a lone brace | {metric}
    gate-2-of-metrics | +     gate_2: iteration > 0 | 8:13 Gate 2 is always the explicit signal | exit_signal == true
    gate-2-with-a-way-out | +     gate_2: exit_signal OR iteration > 5 | 8:13 Gate 2 is always | exit_signal == true
    exit-by-one-gate | +     exit_allowed: gate_1 == true | 8:19 only when both gates are open | gate_2 == true
    phase-twice-in-other-case | +   work: {gate_1: {name: x, condition: iteration > 1}} | 8:3 defined twice | upper and
    workflow-and-gate-document | + ---/phase: RED | 1:1 unknown key 'workflow' | use one of
""")


@pytest.mark.parametrize(("text", "place", "problem", "remedy"), WRONG_STRUCTURE + WRONG_MEANING)
def test_refuses_with_place_and_remedy(text: str, place: str, problem: str, remedy: str) -> None:
    error = refusal_of(text)
    assert error.problem.startswith(f"own.yaml:{place}: ")
    assert problem in error.problem
    assert remedy in error.remedy
    assert error.slug == "bad-workflow"


def test_a_metric_can_not_have_two_types() -> None:
    text = SMALL + "metrics: {coverage: int}"
    error = refusal_of(text, coverage="number")
    assert error.problem == "own.yaml:8:11: a plugin measures coverage as number"
    assert parse(text, coverage="int").metrics == {"coverage": "int"}


@pytest.mark.parametrize("section", ["facts: {coverage: number}", "parameters: {coverage: 1}"])
def test_what_a_plugin_measures_can_not_be_declared(section: str) -> None:
    error = refusal_of(SMALL + section, coverage="number")
    assert error.problem.startswith("own.yaml:8:")
    assert error.problem.endswith("coverage is a metric of a plugin already")


# Digest


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        pytest.param("small", "large", False, id="other-name"),
        pytest.param("tests_failing == 0", "tests_failing < 1", False, id="other-condition"),
        pytest.param("[complete-run]", "[]", False, id="guard-taken-out"),
        pytest.param("WORK:", "WORK:\n    tests: none", False, id="other-expectation"),
        pytest.param("phases:", "parameters: {a: 1}\nphases:", False, id="one-more-parameter"),
        pytest.param("phases:", "start: first\nphases:", False, id="other-way-back"),
        pytest.param("phases:", "# a comment\nphases:", True, id="a-comment-is-no-rule"),
        pytest.param("tests_total > 0 AND", "tests_total   >   0 and", True, id="spelling-is-no-rule"),
        pytest.param("Works", "Does work", True, id="prose-is-no-rule"),
        pytest.param("phases:", "start: any\nphases:", True, id="a-default-written-out-is-no-rule"),
    ],
)
def test_what_is_a_rule(old: str, new: str, is_same: bool) -> None:
    assert (name_rules(to_json(parse(SMALL))) == name_rules(to_json(parse(SMALL.replace(old, new))))) is is_same


@pytest.mark.parametrize("name", ["name", "purpose", "remedy"])
def test_a_parameter_is_a_rule_whatever_it_is_called(name: str) -> None:
    one, other = (parse(f"{SMALL}parameters: {{{name}: {value}}}\n") for value in (1, 2))
    assert name_rules(to_json(one)).items() - name_rules(to_json(other)).items() == {(f"parameters.{name}", "1")}


def test_a_guard_is_a_rule_only_if_it_is_in_use() -> None:
    def rules_with(name: str) -> dict[str, str]:
        other = replace(GUARDS[name], condition="iteration > 99")
        return name_rules(to_json(parse_workflow(SMALL, name="own.yaml", guards={**GUARDS, name: other})))

    assert rules_with("complete-run") != name_rules(to_json(parse(SMALL)))
    assert rules_with("tests-kept") == name_rules(to_json(parse(SMALL)))


# Gate documents


def test_the_four_gate_documents_load_as_they_stand() -> None:
    workflow = load_workflow(SEED_GATES.name, root=SEED_GATES.parent)
    tdd = load_shipped_workflow("tdd")
    assert workflow.name == "dual-gate"
    assert [phase.name for phase in workflow.phases] == ["RED", "GREEN", "REFACTOR", "DOCUMENT"]
    assert [phase.next for phase in workflow.phases] == ["GREEN", "REFACTOR", "DOCUMENT", "DONE"]
    assert [phase.gate_1.name for phase in workflow.phases] == [
        "Tests Generated and Failing",
        "All Tests Passing (Stable)",
        "Tests Still Passing + Refactoring Done",
        "Required Documentation Generated",
    ]
    assert workflow.phases[0].purpose == "Verify all E2E tests are generated and failing"
    assert workflow.phases[1].gate_1.rationale == "Tests must pass twice to filter flakiness"
    for phase, model in zip(workflow.phases, tdd.phases, strict=True):
        assert (phase.tests, phase.scope, phase.may_end_cycle) == (model.tests, model.scope, model.may_end_cycle)
        assert phase.gate_1.guards == model.gate_1.guards
    assert (workflow.parameters, workflow.facts, workflow.guards) == (tdd.parameters, tdd.facts, tdd.guards)


GATE = """\
phase: Review
gate_1:
  name: Reviewed
  condition: tests_failing == 0
"""


def test_a_phase_that_tdd_does_not_know_gets_the_plainest_rules() -> None:
    workflow = parse(GATE)
    (phase,) = workflow.phases
    assert workflow.name == "own"
    assert (phase.name, phase.next, phase.tests, phase.scope) == ("REVIEW", "DONE", "passing", "suite")
    assert (phase.gate_1.guards, phase.may_end_cycle, phase.purpose) == (("complete-run",), False, "")


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param(GATE + "---\n" + GATE, "6:8", "phase REVIEW is defined twice", id="phase-twice"),
        pytest.param(GATE + "---\npurpose: x", "6:1", "the key 'phase' is missing", id="document-without-phase"),
        pytest.param("phase: RED", "1:1", "the key 'gate_1' is missing", id="no-gate-1"),
        pytest.param(GATE + "  guards: [x]", "5:12", "unknown guard 'x'", id="unknown-guard"),
        pytest.param(GATE + "workflow: x", "5:1", "unknown key 'workflow'", id="both-forms-at-once"),
        pytest.param(GATE + "gate_2: {condition: tests_failing == 0}", "5:21", "explicit signal", id="other-gate-2"),
    ],
)
def test_gate_documents_refuse_with_place(text: str, place: str, problem: str) -> None:
    error = refusal_of(text)
    assert error.problem.startswith(f"own.yaml:{place}: ")
    assert problem in error.problem
    assert error.slug == "bad-workflow"


# Files


def test_a_file_is_found_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "small.yaml").write_text(SMALL)
    (tmp_path / "bare").write_text(SMALL)
    assert load_workflow("rules/small.yaml", root=tmp_path).name == "small"
    assert load_workflow(str(tmp_path / "bare"), root=Path("/nowhere")).name == "small"
    assert load_workflow("bare", root=tmp_path).name == "small"


def test_a_file_may_use_what_plugins_give(tmp_path: Path) -> None:
    text = SMALL.replace("tests_failing == 0", "coverage > 1").replace("complete-run", "mine")
    (tmp_path / "own.yaml").write_text(text)
    mine = replace(GUARDS["complete-run"], name="mine")
    workflow = load_workflow("own.yaml", root=tmp_path, extra_guards={"mine": mine}, extra_metrics={"coverage": "int"})
    assert workflow.guards["mine"] == mine


@pytest.mark.parametrize(
    ("name", "problem", "remedy"),
    [
        pytest.param("tddd", "there is no workflow 'tddd'", "use one of: tdd", id="misspelled-name"),
        pytest.param("", "this is a folder", "", id="no-name"),
        pytest.param("absent.yaml", "absent.yaml: there is no such file", "root", id="absent-file"),
        pytest.param("broken.yaml", "broken.yaml:1:1: ", "", id="broken-file"),
    ],
)
def test_files_that_can_not_be_used(tmp_path: Path, name: str, problem: str, remedy: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.yaml").write_text("- no workflow")
    with pytest.raises(WorkflowError) as caught:
        load_workflow(name, root=tmp_path)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-workflow"


# Guard files


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param("{}", "1:1", "the key 'guards' is missing", id="no-guards"),
        pytest.param("guards: {}\nmore: 1", "2:1", "unknown key 'more'", id="unknown-key"),
        pytest.param("guards:\n  a: {remedy: x}", "2:6", "the key 'condition' is missing", id="no-condition"),
    ],
)
def test_guard_files_refuse_with_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        parse_guards(text, "mine.yaml")
    assert caught.value.problem.startswith(f"mine.yaml:{place}: ")
    assert problem in caught.value.problem
    assert caught.value.slug == "bad-workflow"


# Schema


def as_json(node: Node) -> object:
    if isinstance(node, Table):
        return {str(key): as_json(value) for key, value in node.items()}
    return [as_json(item) for item in node] if isinstance(node, Items) else node.value


RIGHT = {
    "small": SMALL,
    "full": FULL,
    "gate": GATE + "  guards: [complete-run]\n",
    "four-gates": SEED_GATES.read_text(),
}
RIGHT.update({name: (PACKAGE / "workflows" / f"{name}.yaml").read_text() for name in shipped_workflow_names()})


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        *(pytest.param(text, True, id=name) for name, text in RIGHT.items()),
        *(pytest.param(row.values[0], False, id=str(row.id)) for row in WRONG_STRUCTURE),
    ],
)
def test_schema_and_loader_agree(text: str, is_accepted: bool) -> None:
    schema = json.loads((PACKAGE / "schemas" / "workflow.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    documents = read_documents(text, name="own.yaml")
    assert all(validator.is_valid(as_json(document)) for document in documents) is is_accepted
    if is_accepted:
        parse(text)
    else:
        refusal_of(text)
