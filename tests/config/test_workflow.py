"""Workflow files: what loads and to what, what is refused and where."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phase_gate
from phase_gate.config.fields import scalar_value
from phase_gate.config.files import (
    apply_overlay,
    load_shipped_guards,
    load_shipped_workflow,
    load_workflow,
    shipped_workflow_names,
)
from phase_gate.config.vocabulary import MAX_BYTES, name_types
from phase_gate.config.workflow import parse_guards, parse_workflow
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlSequence, read_documents
from phase_gate.errors import ConfigurationError, DocumentError, PhaseGateError, WorkflowError
from phase_gate.values import replace
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.metrics import METRIC_TYPES, PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import Guard, Phase, Workflow
from phase_gate.workflow.model_json import name_rules
from phase_gate.workflow.settings import Overlay, PhaseOverlay
from tests.sweeps import IS_WHOLE

PACKAGE = Path(phase_gate.__file__).parent
SEED_GATES = Path(__file__).parent.parent / "data" / "dual-gate.yaml"
GUARDS = load_shipped_guards()
#: Without those that only a pipeline can measure: no other workflow carries them along.
USUAL = {name: guard for name, guard in GUARDS.items() if guard.condition.names.isdisjoint(PIPELINE_METRICS)}

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
rewind_by_option: false
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


def test_shipped_names() -> None:
    assert "tdd" in shipped_workflow_names()
    assert "guards" not in shipped_workflow_names()


@pytest.mark.parametrize("name", shipped_workflow_names())
def test_every_shipped_workflow_loads(name: str, tmp_path: Path) -> None:
    assert load_shipped_workflow(name).name == name
    assert load_workflow(name, root=tmp_path) == load_shipped_workflow(name)


def test_shipped_tdd_is_the_published_one() -> None:
    tdd = load_shipped_workflow("tdd")
    assert [phase.name for phase in tdd.phases] == ["RED", "GREEN", "REFACTOR", "DOCUMENT"]
    assert [phase.next for phase in tdd.phases] == ["GREEN", "REFACTOR", "DOCUMENT", "DONE"]
    assert [phase.tests for phase in tdd.phases] == ["failing", "passing", "passing", "none"]
    assert [phase.scope for phase in tdd.phases] == ["targets", "suite", "suite", "suite"]
    assert [phase.may_end_cycle for phase in tdd.phases] == [False, True, True, False]
    assert (tdd.start, tdd.rewind_by_option) == ("any", True)
    assert tdd.parameters == {"required_green_runs": 2, "max_refactor_iterations": 5, "required_docs_count": 3}
    assert tdd.facts == {"refactoring_complete": "bool", "no_more_improvements_identified": "bool"}
    assert tdd.phases[1].gate_1.guards == (
        "complete-run",
        "red-was-seen",
        "tests-kept",
        "tests-unchanged",
        "no-new-skips",
        "criteria-covered",
        "outcomes-genuine",
        "targets-proven",
        "rules-unchanged",
    )
    assert tdd.phases[2].gate_1.condition == parse_condition(
        "tests_total > 0 AND tests_failing == 0 AND tests_passing == tests_total AND (refactoring_complete == true"
        " OR iteration >= max_refactor_iterations OR no_more_improvements_identified == true)"
    )


def test_shipped_guards_say_what_is_wrong_and_what_to_do() -> None:
    assert set(GUARDS) >= {"complete-run", "tests-kept", "no-new-skips", "baseline-kept", "code-as-tested"}
    assert all(guard.remedy and guard.detail for guard in GUARDS.values())
    assert load_shipped_workflow("tdd").guards == USUAL
    assert load_shipped_workflow("pipeline").guards == GUARDS


# Our own form


def test_a_small_file_gets_the_defaults() -> None:
    workflow = parse(SMALL)
    (phase,) = workflow.phases
    assert (workflow.name, workflow.start, workflow.rewind_by_option) == ("small", "any", True)
    assert (workflow.parameters, workflow.facts, workflow.metrics) == ({}, {}, {})
    assert (phase.name, phase.next, phase.tests, phase.scope) == ("WORK", "DONE", "passing", "suite")
    assert (phase.purpose, phase.may_end_cycle) == ("", False)
    assert phase.gate_1.guards == ("complete-run",)
    assert not phase.gate_1.replaced
    assert workflow.guards == USUAL


def test_a_full_file_keeps_every_word() -> None:
    workflow = parse(FULL)
    build, polish, ship = workflow.phases
    assert (workflow.name, workflow.start, workflow.rewind_by_option) == ("full", "first", False)
    assert workflow.parameters == {"needed": 3, "ratio": 0.5, "strict": True, "mode": "fast"}
    assert workflow.facts == {"agreed": "bool", "votes": "int", "weight": "number", "note": "text"}
    assert workflow.metrics == {"mutants_alive": "int"}
    assert workflow.guards["no-mutants"] == Guard(
        name="no-mutants",
        condition=parse_condition("mutants_alive == 0"),
        remedy="kill the mutants",
        detail="{mutants_alive} of {needed} are alive",
    )
    assert (build.name, build.purpose, build.tests, build.scope) == ("BUILD", "Something stands", "failing", "targets")
    assert (build.gate_1.name, build.gate_1.rationale) == ("Built", "because")
    assert build.gate_1.guards == ("complete-run", "no-mutants")
    assert (build.next, ship.next, polish.next) == ("SHIP", "POLISH", "DONE")
    assert (build.may_end_cycle, ship.may_end_cycle) == (True, False)


def test_every_name_of_a_workflow_has_a_type() -> None:
    types = name_types(parse(FULL))
    assert types.items() >= METRIC_TYPES.items()
    wanted = {"needed": "int", "ratio": "number", "strict": "bool", "mode": "text", "agreed": "bool", "votes": "int"}
    assert types.items() >= {**wanted, "mutants_alive": "int"}.items()


def test_metrics_of_plugins_are_known() -> None:
    text = SMALL.replace("tests_failing == 0", "coverage >= 90")
    assert "unknown name 'coverage'" in refusal_of(text).problem
    assert parse(text, coverage="number").metrics == {"coverage": "number"}


def test_aliases_stand_for_what_they_mean() -> None:
    text = SMALL.replace("tests_failing == 0", "all_diagrams_valid == true AND no_improvements_found")
    workflow = parse("facts: {no_more_improvements_identified: bool}\n" + text)
    assert workflow.phases[0].gate_1.condition.names == {
        "tests_total",
        "diagrams_total",
        "diagrams_valid",
        "no_more_improvements_identified",
    }


def with_clause(clause: str) -> str:
    return SMALL.replace("tests_failing == 0", clause)


def with_guards(guards: str) -> str:
    return SMALL.replace("[complete-run]", guards)


def with_detail(detail: str) -> str:
    return SMALL + f"guards: {{mine: {{condition: iteration > 0, remedy: x, detail: '{detail}'}}}}"


#: What a schema refuses too.
WRONG_STRUCTURE = [
    pytest.param(
        "workflow: [a]\nphases: {}", "1:11", "workflow has to be a text", "one text", id="name-that-is-a-list"
    ),
    pytest.param(
        SMALL.replace("small", "'../x'"), "1:11", "can't be named '../x'", "letters", id="name-that-is-a-path"
    ),
    pytest.param(SMALL[len("workflow: small\n") :], "1:1", "the key 'workflow' is missing", "add it", id="no-name"),
    pytest.param("workflow: a", "1:1", "the key 'phases' is missing", "add it", id="no-phases-key"),
    pytest.param("workflow: a\nphases: {}", "2:9", "there are no phases", "at least one", id="no-phases"),
    pytest.param(
        "workflow: a\nphases:", "2:1", "phases has to be a mapping, not nothing", "key: value", id="phases-of-nothing"
    ),
    pytest.param(
        "workflow: a\nphases: [RED]",
        "2:9",
        "phases has to be a mapping, not a list",
        "key: value",
        id="phases-in-a-list",
    ),
    pytest.param("- a", "1:1", "the file has to be a mapping, not a list", "key: value", id="a-list"),
    pytest.param("just text", "1:1", "the file has to be a mapping, not 'just text'", "key: value", id="a-text"),
    pytest.param(SMALL + "phasse: 1", "8:1", "unknown key 'phasse'", "use one of: phases,", id="unknown-key"),
    pytest.param(
        SMALL + "    gate_3: 1", "8:5", "unknown key 'gate_3' in phases.WORK", "gate_", id="unknown-key-in-a-phase"
    ),
    pytest.param(
        SMALL + "      gaurds: []",
        "8:7",
        "unknown key 'gaurds' in phases.WORK.gate_1",
        "guards,",
        id="unknown-key-in-a-gate",
    ),
    pytest.param(SMALL + "start: last", "8:8", "start can't be 'last'", "first", id="start-that-is-no-choice"),
    pytest.param(
        SMALL + "rewind_by_option: yes", "8:19", "has to be a boolean, not 'yes'", "true or false", id="yes-for-true"
    ),
    pytest.param(
        SMALL + "    tests: red", "8:12", "phases.WORK.tests can't be 'red'", "failing", id="tests-that-is-no-choice"
    ),
    pytest.param(
        SMALL + "    scope: all", "8:12", "phases.WORK.scope can't be 'all'", "suite", id="scope-that-is-no-choice"
    ),
    pytest.param(SMALL + "    may_end_cycle: 1", "8:20", "has to be a boolean", "true or false", id="one-for-true"),
    pytest.param(
        SMALL.replace("WORK", "DONE"), "3:3", "the name DONE is reserved", "another name", id="phase-named-done"
    ),
    pytest.param(
        SMALL.replace("WORK", "auto"), "3:3", "the name AUTO is reserved", "another name", id="phase-named-auto"
    ),
    pytest.param(
        SMALL.replace("WORK", "1ST"), "3:3", "can't be named '1ST'", "a letter first", id="phase-with-a-digit-first"
    ),
    pytest.param(SMALL.replace("WORK", "RED-2"), "3:3", "can't be named 'RED-2'", "letters", id="phase-with-a-dash"),
    pytest.param(SMALL.replace("WORK", "RÖT"), "3:3", "can't be named 'RÖT'", "letters", id="phase-that-is-not-ascii"),
    pytest.param(
        SMALL + "  work: {}", "8:3", "phase WORK comes twice", "upper and lower case", id="phase-twice-in-other-case"
    ),
    pytest.param(
        SMALL.replace("WORK:", "WORK: 1\n  X:"),
        "3:9",
        "has to be a mapping, not '1'",
        "key: value",
        id="phase-that-is-a-number",
    ),
    pytest.param(
        "workflow: a\nphases:\n  A: {purpose: x}",
        "3:6",
        "the key 'gate_1' is missing in phases.A",
        "add it",
        id="no-gate-1",
    ),
    pytest.param(
        SMALL.replace("      name: Works\n", ""), "5:7", "the key 'name' is missing", "add it", id="gate-without-name"
    ),
    pytest.param(
        SMALL.replace("condition:", "rationale:"),
        "5:7",
        "the key 'condition' is missing",
        "add it",
        id="gate-without-condition",
    ),
    pytest.param(
        SMALL.replace("name: Works", "name:"),
        "5:7",
        "phases.WORK.gate_1.name has no value",
        "text",
        id="empty-gate-name",
    ),
    pytest.param(with_guards("complete-run"), "7:15", "has to be a list", "[one, two]", id="guards-without-brackets"),
    pytest.param(
        SMALL + "facts: {Agreed: bool}", "8:9", "can't be named 'Agreed'", "lower case", id="fact-in-upper-case"
    ),
    pytest.param(SMALL + "facts: {a: boolean}", "8:12", "facts.a can't be 'boolean'", "bool", id="unknown-type"),
    pytest.param(SMALL + "facts: [a]", "8:8", "facts has to be a mapping", "key: value", id="facts-in-a-list"),
    pytest.param(
        SMALL + "parameters: {a: }", "8:14", "parameters.a has no value", "a number", id="parameter-of-nothing"
    ),
    pytest.param(
        SMALL + "parameters: {a: [1]}",
        "8:17",
        "has to be one value, not a list",
        "one number",
        id="parameter-that-is-a-list",
    ),
    pytest.param(
        SMALL + "guards: {Mine: {condition: iteration > 0, remedy: x}}",
        "8:10",
        "can't be named 'Mine'",
        "lower case",
        id="guard-in-upper-case",
    ),
    pytest.param(
        SMALL + "guards: {mine: {condition: iteration > 0}}",
        "8:16",
        "the key 'remedy' is missing",
        "add it",
        id="guard-without-remedy",
    ),
    pytest.param(
        SMALL + "guards: {mine: {condition: iteration > 0, remedy: x, color: red}}",
        "8:54",
        "unknown key 'color'",
        "condition",
        id="guard-with-an-unknown-key",
    ),
    pytest.param(
        SMALL + "    gate_2: {name: x}",
        "8:13",
        "the key 'condition' is missing in phases.WORK.gate_2",
        "add it",
        id="gate-2-without-condition",
    ),
    pytest.param(
        SMALL + "    gate_2: {condition: exit_signal == true, guards: []}",
        "8:46",
        "unknown key 'guards'",
        "condition",
        id="gate-2-with-guards",
    ),
    pytest.param(
        SMALL + "    gate_2: [exit_signal]", "8:13", "has to be a text, not a list", "one text", id="gate-2-in-a-list"
    ),
    pytest.param(
        SMALL + "    exit_allowed: {when: gate_1 == true AND gate_2 == true, name: x}",
        "8:61",
        "unknown key 'name'",
        "when",
        id="exit-with-an-unknown-key",
    ),
]

#: Names and conditions: what only the loader knows.
WRONG_MEANING = [
    pytest.param(
        SMALL + "    next: WROK", "8:11", "after WORK can't come 'WROK'", "use one of: DONE", id="next-that-is-no-phase"
    ),
    pytest.param(
        SMALL + "    next: AUTO", "8:11", "after WORK can't come 'AUTO'", "DONE", id="next-that-is-a-question"
    ),
    pytest.param(
        SMALL + "    next: work", "8:11", "after WORK can't come 'WORK'", "DONE", id="next-that-is-the-phase-itself"
    ),
    pytest.param(with_clause("tests_failing =="), "6:18", "column", "write", id="condition-cut-short"),
    pytest.param(with_clause("os.system('x')"), "6:18", "condition", "", id="condition-that-calls"),
    pytest.param(
        SMALL.replace("tests_failing ", "test_failing "),
        "6:18",
        "unknown name 'test_failing'",
        "use one of: tests_failing,",
        id="unknown-metric",
    ),
    pytest.param(with_clause("tests_failing == true"), "6:18", "int", "number", id="mixed-types"),
    pytest.param(
        with_clause("exit_signal == true"), "6:18", "exit_signal is known in gate_2", "metrics", id="signal-in-gate-1"
    ),
    pytest.param(with_clause("gate_2 == true"), "6:18", "gate_2 is known in gate_2", "metrics", id="gate-2-in-gate-1"),
    pytest.param(
        SMALL.replace("tests_total > 0 AND tests_failing == 0", "'true'"),
        "6:18",
        "measures nothing",
        "at least one",
        id="gate-that-is-always-open",
    ),
    pytest.param(
        "parameters: {p: 1}\n" + SMALL.replace("tests_total > 0 AND tests_failing == 0", "p == 1"),
        "7:18",
        "measures nothing",
        "at least one",
        id="gate-of-parameters-only",
    ),
    pytest.param(
        with_guards("[complete-run, complet-run]"),
        "7:30",
        "unknown guard 'complet-run'",
        "use one of: complete-run,",
        id="unknown-guard",
    ),
    pytest.param(
        with_guards("\n      - complete-run\n      - nope"),
        "9:9",
        "unknown guard 'nope'",
        "use one of: ",
        id="unknown-guard-in-its-line",
    ),
    pytest.param(
        SMALL + "facts: {tests_failing: int}",
        "8:9",
        "tests_failing is a measured metric already",
        "of its own",
        id="fact-that-is-measured",
    ),
    pytest.param(
        SMALL + "metrics: {tests_failing: int}",
        "8:11",
        "tests_failing is a measured metric already",
        "of its own",
        id="metric-that-is-measured",
    ),
    pytest.param(
        SMALL + "parameters: {tests_failing: 0}",
        "8:14",
        "tests_failing is a measured metric already",
        "of its own",
        id="parameter-that-is-measured",
    ),
    pytest.param(
        SMALL + "facts: {all_diagrams_valid: bool}", "8:9", "another spelling", "of its own", id="fact-that-is-an-alias"
    ),
    pytest.param(
        SMALL + "facts: {exit_signal: bool}", "8:9", "a name of the gates", "of its own", id="fact-that-is-the-signal"
    ),
    pytest.param(SMALL + "facts: {not: bool}", "8:9", "a word of conditions", "of its own", id="fact-that-is-a-word"),
    pytest.param(
        SMALL + "facts: {a: bool}\nparameters: {a: 1}",
        "9:14",
        "a is a fact already",
        "of its own",
        id="fact-and-parameter",
    ),
    pytest.param(
        SMALL + "facts: {a: bool}\nmetrics: {a: int}",
        "8:9",
        "a is a metric already",
        "of its own",
        id="fact-and-metric",
    ),
    pytest.param(
        SMALL + "guards: {complete-run: {condition: iteration > 0, remedy: x}}",
        "8:10",
        "guard complete-run exists already",
        "another name",
        id="guard-that-is-shipped",
    ),
    pytest.param(
        SMALL + "guards: {mine: {condition: itration > 0, remedy: x}}",
        "8:10",
        "unknown name 'itration'",
        "use one of: iteration,",
        id="guard-of-an-unknown-metric",
    ),
    pytest.param(
        with_detail("{itration}"),
        "8:10",
        "unknown name 'itration' in the detail",
        "use one of: iteration,",
        id="detail-of-an-unknown-metric",
    ),
    pytest.param(
        with_detail("{iteration.real}"),
        "8:10",
        "unknown name 'iteration.real'",
        "use one of",
        id="detail-with-an-attribute",
    ),
    pytest.param(with_detail("a } b"), "8:10", "a lone brace", "{metric}", id="detail-with-a-lone-brace"),
    pytest.param(
        SMALL + "    gate_2: tests_failing == 0",
        "8:13",
        "Gate 2 is always the explicit signal",
        "exit_signal == true",
        id="gate-2-of-metrics",
    ),
    pytest.param(
        SMALL + "    gate_2: 'true'",
        "8:13",
        "Gate 2 is always the explicit signal",
        "exit_signal == true",
        id="gate-2-always-open",
    ),
    pytest.param(
        SMALL + "    gate_2: exit_signal == true OR iteration > 5",
        "8:13",
        "Gate 2 is always",
        "exit_signal == true",
        id="gate-2-with-a-way-out",
    ),
    pytest.param(
        SMALL + "    gate_2: exit_signal != false",
        "8:13",
        "Gate 2 is always",
        "exit_signal == true",
        id="gate-2-in-other-words",
    ),
    pytest.param(
        SMALL + "    exit_allowed: gate_1 == true",
        "8:19",
        "only when both gates are open",
        "gate_1 == true AND gate_2 == true",
        id="exit-by-one-gate",
    ),
    pytest.param(
        SMALL + "    exit_allowed: {when: gate_1 == true OR gate_2 == true}",
        "8:26",
        "only when both gates are open",
        "AND",
        id="exit-by-either-gate",
    ),
    pytest.param(
        FULL.replace("next: ship", "next: polish"),
        "36:3",
        "phase SHIP can't be reached from BUILD",
        "next",
        id="phase-that-nobody-reaches",
    ),
    pytest.param(
        SMALL + "---\nphase: RED",
        "1:1",
        "one of several documents has no phase",
        "alone",
        id="workflow-and-gate-document",
    ),
    pytest.param(
        SMALL + "---\n" + SMALL, "1:1", "one of several documents has no phase", "alone", id="two-workflows-in-a-file"
    ),
]


@pytest.mark.parametrize(("text", "place", "problem", "remedy"), WRONG_STRUCTURE + WRONG_MEANING)
def test_refuses_with_place_and_remedy(text: str, place: str, problem: str, remedy: str) -> None:
    error = refusal_of(text)
    assert error.problem.startswith(f"own.yaml:{place}: ")
    assert problem in error.problem
    assert remedy in error.remedy
    assert error.slug == "bad-workflow"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("", "1:1", id="empty"),
        pytest.param("# nothing\n", "1:1", id="only-a-comment"),
        pytest.param(b"\x00\x01\x02", "1:1", id="binary"),
        pytest.param("workflow: small\n" * 2, "2:1", id="key-twice"),
        pytest.param(SMALL + "  WORK: {}", "8:3", id="phase-twice"),
        pytest.param(SMALL + "\tx: 1", "8:1", id="tab"),
        pytest.param(SMALL.replace("small", "!!python/name:os.system x"), "1:11", id="tag"),
        pytest.param("a: &a [b]\nc: [*a, *a]", "1:4", id="bomb"),
        pytest.param("workflow: a\nphases: " + "[" * 40, "2:40", id="deep-nesting"),
        pytest.param("workflow: " + "x" * 10_000_000, "1:1", id="ten-megabytes"),
    ],
)
def test_what_is_no_yaml_is_refused_by_the_reader(text: str | bytes, place: str) -> None:
    error = refusal_of(text, DocumentError)
    assert error.problem.startswith(f"own.yaml:{place}: ")
    assert error.slug == "bad-yaml"


def test_phases_that_go_round_for_ever_are_refused() -> None:
    text = """\
workflow: round
phases:
  A:
    gate_1: {name: a, condition: iteration > 0}
  B:
    gate_1: {name: b, condition: iteration > 0}
    next: A
"""
    error = refusal_of(text)
    assert error.problem.startswith("own.yaml:3:3: no way leads from A, B to DONE: the phases go round for ever")
    assert error.slug == "bad-workflow"
    assert [phase.next for phase in parse(text + "    may_end_cycle: true").phases] == ["B", "A"]


def test_a_metric_can_not_have_two_types() -> None:
    text = SMALL + "metrics: {coverage: int}"
    error = refusal_of(text, coverage="number")
    assert error.problem == "own.yaml:8:21: a plugin measures coverage as number"
    assert parse(text, coverage="int").metrics == {"coverage": "int"}


@pytest.mark.parametrize("section", ["facts: {coverage: number}", "parameters: {coverage: 1}"])
def test_what_a_plugin_measures_can_not_be_declared(section: str) -> None:
    error = refusal_of(SMALL + section, coverage="number")
    assert error.problem.startswith("own.yaml:8:")
    assert error.problem.endswith("coverage is a metric of a plugin already")


def test_a_plugin_can_not_give_a_measured_metric_another_type() -> None:
    assert parse(SMALL, tests_failing="text").phases == parse(SMALL).phases


# Digest


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        pytest.param("small", "large", False, id="other-name"),
        pytest.param("tests_failing == 0", "tests_failing < 1", False, id="other-condition"),
        pytest.param("[complete-run]", "[]", False, id="guard-taken-out"),
        pytest.param("WORK:", "WORK:\n    tests: none", False, id="other-expectation"),
        pytest.param("phases:", "parameters: {a: 1}\nphases:", False, id="one-more-parameter"),
        pytest.param("phases:", "start: first\nphases:", False, id="other-start"),
        pytest.param("phases:", "rewind_by_option: false\nphases:", False, id="other-way-back"),
        pytest.param("phases:", "# a comment\nphases:", True, id="a-comment-is-no-rule"),
        pytest.param("tests_total > 0 AND", "tests_total   >   0 and", True, id="spelling-is-no-rule"),
        pytest.param("Works", "Does work", True, id="prose-is-no-rule"),
        pytest.param("phases:", "start: any\nphases:", True, id="a-default-written-out-is-no-rule"),
    ],
)
def test_digest_follows_the_rules(old: str, new: str, is_same: bool) -> None:
    first, second = parse(SMALL).digest, parse(SMALL.replace(old, new)).digest
    assert len(first) == 64
    assert (first == second) is is_same


@pytest.mark.parametrize("name", ["name", "purpose", "remedy"])
def test_a_parameter_is_a_rule_whatever_it_is_called(name: str) -> None:
    one, other = (parse(f"{SMALL}parameters: {{{name}: {value}}}\n") for value in (1, 2))
    assert one.digest != other.digest
    assert name_rules(one).items() - name_rules(other).items() == {(f"parameters.{name}", "1")}


def test_digest_sees_a_changed_guard_only_if_it_is_in_use() -> None:
    def digest_with(name: str) -> str:
        other = replace(GUARDS[name], condition=parse_condition("iteration > 99"))
        return parse_workflow(SMALL, name="own.yaml", guards={**GUARDS, name: other}).digest

    assert digest_with("complete-run") != parse(SMALL).digest
    assert digest_with("tests-kept") == parse(SMALL).digest


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


def test_gate_documents_mean_what_they_say() -> None:
    red, green, refactor, document = load_workflow(SEED_GATES.name, root=SEED_GATES.parent).phases
    tests = {"tests_total": 5, "tests_failing": 0, "tests_passing": 5, "iteration": 1}
    documents = {"required_docs_count": 3, "docs_generated": 3, "has_adr": True, "has_c4_diagrams": True}

    def holds(phase: Phase, **values: int | bool) -> bool | None:
        return phase.gate_1.condition.evaluate(values).met

    failing = {"tests_total": 3, "tests_failing": 3, "tests_passing": 0}
    assert holds(red, **failing, criteria_count=3) is True
    assert holds(red, **failing, criteria_count=4) is False
    assert holds(green, **tests, consecutive_green_runs=2) is True
    assert holds(green, **tests, consecutive_green_runs=1) is False
    undone = {**tests, "refactoring_complete": False, "no_more_improvements_identified": False}
    assert holds(refactor, **undone, max_refactor_iterations=5) is False
    assert holds(refactor, **{**undone, "no_more_improvements_identified": True}, max_refactor_iterations=5) is True
    assert holds(refactor, **{**undone, "iteration": 5}, max_refactor_iterations=5) is True
    assert holds(document, **documents, diagrams_total=2, diagrams_valid=2) is True
    assert holds(document, **documents, diagrams_total=2, diagrams_valid=1) is False


def test_gate_documents_never_hold_on_nothing() -> None:
    nothing = dict.fromkeys(METRIC_TYPES, 0) | dict.fromkeys(
        ["has_adr", "has_c4_diagrams", "refactoring_complete"], True
    )
    values = {**nothing, "consecutive_green_runs": 9, "docs_generated": 9, "required_docs_count": 3}
    for phase in load_workflow(SEED_GATES.name, root=SEED_GATES.parent).phases:
        assert phase.gate_1.condition.evaluate(values).met is False, phase.name


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
        pytest.param(GATE + "---\n" + GATE, "6:8", "phase REVIEW comes twice", id="phase-twice"),
        pytest.param(GATE + "---\npurpose: x", "6:1", "the key 'phase' is missing", id="document-without-phase"),
        pytest.param(GATE + "---\n- x", "6:1", "the file has to be a mapping", id="document-that-is-a-list"),
        pytest.param(GATE.replace("Review", "done"), "1:8", "the name DONE is reserved", id="reserved-name"),
        pytest.param(GATE.replace(": Review\n", ": 'a b'\n"), "1:8", "can't be named 'a b'", id="odd-name"),
        pytest.param("phase: RED", "1:1", "the key 'gate_1' is missing", id="no-gate-1"),
        pytest.param(GATE + "  guards: []", "5:3", "unknown key 'guards' in gate_1", id="guards-are-not-its-business"),
        pytest.param(GATE + "workflow: x", "5:1", "unknown key 'workflow'", id="both-forms-at-once"),
        pytest.param(GATE + "gate_2: {condition: tests_failing == 0}", "5:21", "explicit signal", id="other-gate-2"),
        pytest.param(GATE + "exit_allowed: {when: gate_1 == true}", "5:22", "both gates", id="exit-by-one-gate"),
        pytest.param(GATE.replace("tests_failing", "gate_1"), "4:14", "gate_1 is known in", id="gate-1-in-gate-1"),
        pytest.param(GATE.replace("tests_failing", "nope"), "4:14", "unknown name 'nope'", id="unknown-metric"),
        pytest.param(GATE.replace("tests_failing == 0", "1 == 1"), "4:14", "measures nothing", id="always-open"),
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


def test_a_file_can_not_take_a_shipped_name(tmp_path: Path) -> None:
    (tmp_path / "tdd").write_text(SMALL)
    assert load_workflow("tdd", root=tmp_path).name == "tdd"
    assert load_workflow("./tdd", root=tmp_path).name == "small"


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
        pytest.param("folder", "folder: this is a folder", "file", id="folder"),
        pytest.param("a\0b.yaml", "can't be read", "", id="path-that-can-not-be"),
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


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "huge.yaml").write_bytes(b"#" * 10_000_000)
    with pytest.raises(DocumentError, match=rf"^huge\.yaml:1:1: bigger than {MAX_BYTES} bytes"):
        load_workflow("huge.yaml", root=tmp_path)


def test_an_unknown_shipped_name_is_refused() -> None:
    with pytest.raises(WorkflowError, match="there is no workflow 'guards'"):
        load_shipped_workflow("guards")


# Guard files


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param("a: 1", "1:1", "the key 'guards' is missing", id="no-guards"),
        pytest.param("guards: [a]", "1:9", "guards has to be a mapping", id="list"),
        pytest.param("guards: {}\nmore: 1", "2:1", "unknown key 'more'", id="unknown-key"),
        pytest.param(
            "guards: {a: {condition: nope > 0, remedy: x}}", "1:10", "unknown name 'nope'", id="unknown-metric"
        ),
        pytest.param("guards:\n  a: {remedy: x}", "2:6", "the key 'condition' is missing", id="no-condition"),
        pytest.param("guards:\n  a:\n    condition: 1 >", "3:16", "condition", id="broken-condition"),
    ],
)
def test_guard_files_refuse_with_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        parse_guards(text, "mine.yaml")
    assert caught.value.problem.startswith(f"mine.yaml:{place}: ")
    assert problem in caught.value.problem
    assert caught.value.slug == "bad-workflow"


# Overlay


def overlaid(**parts: object) -> Workflow:
    return apply_overlay(load_shipped_workflow("tdd"), Overlay(**parts))  # type: ignore[arg-type]


def test_nothing_laid_over_changes_nothing() -> None:
    assert overlaid() == load_shipped_workflow("tdd")


def test_a_condition_is_added_to_the_workflows() -> None:
    tdd = load_shipped_workflow("tdd")
    laid = overlaid(
        phases={"green": PhaseOverlay(condition=parse_condition("tests_flaky == 0"), guards=("baseline-kept",))}
    )
    green = laid.phases[1].gate_1
    assert green.condition == tdd.phases[1].gate_1.condition.conjoin(parse_condition("tests_flaky == 0"))
    assert green.guards == (*tdd.phases[1].gate_1.guards, "baseline-kept")
    assert not green.replaced
    assert [laid.phases[index] for index in (0, 2, 3)] == [tdd.phases[index] for index in (0, 2, 3)]
    assert laid.digest != tdd.digest


def test_an_added_or_stays_inside_its_parentheses() -> None:
    gate = overlaid(phases={"GREEN": PhaseOverlay(condition=parse_condition("tests_flaky == 0 OR iteration > 9"))})
    assert gate.phases[1].gate_1.condition.evaluate({"iteration": 10, "tests_total": 0}).met is False


def test_a_replaced_condition_is_marked_and_keeps_the_guards() -> None:
    tdd = load_shipped_workflow("tdd")
    laid = overlaid(phases={"GREEN": PhaseOverlay(condition=parse_condition("tests_failing == 0"), replace=True)})
    assert laid.phases[1].gate_1.condition == parse_condition("tests_failing == 0")
    assert laid.phases[1].gate_1.replaced
    assert laid.phases[1].gate_1.guards == tdd.phases[1].gate_1.guards


def test_parameters_metrics_and_guards_are_laid_over() -> None:
    guard = Guard(name="covered", condition=parse_condition("coverage >= required_green_runs"), remedy="cover it")
    laid = overlaid(
        parameters={"required_green_runs": 3},
        metrics={"coverage": "number"},
        guards={"covered": guard},
        phases={"RED": PhaseOverlay(guards=("covered", "complete-run"))},
    )
    assert laid.parameters["required_green_runs"] == 3
    assert laid.parameters["required_docs_count"] == 3
    assert laid.metrics == {"coverage": "number"}
    assert laid.guards == {**USUAL, "covered": guard}
    assert laid.phases[0].gate_1.guards == (*load_shipped_workflow("tdd").first.gate_1.guards, "covered")


OWN_GUARD = Guard(name="complete-run", condition=parse_condition("iteration > 0"), remedy="x")
UNKNOWN = parse_condition("nope > 0")


@pytest.mark.parametrize(
    ("overlay", "key", "problem", "remedy"),
    [
        pytest.param(
            Overlay(parameters={"requird": 1}),
            "parameters.requird",
            "no parameter 'requird'",
            "required",
            id="unknown-parameter",
        ),
        pytest.param(
            Overlay(parameters={"required_green_runs": "2"}),
            "parameters.required_green_runs",
            "type int, not text",
            "like 2",
            id="text-for-number",
        ),
        pytest.param(
            Overlay(parameters={"required_green_runs": True}),
            "parameters.required_green_runs",
            "type int, not bool",
            "like 2",
            id="boolean-for-number",
        ),
        pytest.param(
            Overlay(parameters={"required_green_runs": 1.5}),
            "parameters.required_green_runs",
            "type int, not number",
            "like 2",
            id="fraction-for-integer",
        ),
        pytest.param(
            Overlay(metrics={"tests_total": "int"}),
            "metrics.tests_total",
            "exists already",
            "of its own",
            id="metric-that-is-measured",
        ),
        pytest.param(
            Overlay(metrics={"refactoring_complete": "bool"}),
            "metrics.refactoring_complete",
            "exists already",
            "of its own",
            id="metric-that-is-a-fact",
        ),
        pytest.param(
            Overlay(guards={"complete-run": OWN_GUARD}),
            "guards.complete-run",
            "exists already",
            "another name",
            id="guard-that-is-shipped",
        ),
        pytest.param(
            Overlay(guards={"a": replace(OWN_GUARD, name="a", condition=UNKNOWN)}),
            "guards.a",
            "unknown name 'nope'",
            "use one of",
            id="guard-of-an-unknown-metric",
        ),
        pytest.param(
            Overlay(phases={"GRENE": PhaseOverlay()}),
            "phases.GRENE",
            "no phase 'GRENE'",
            "use one of: GREEN,",
            id="unknown-phase",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(condition=UNKNOWN)}),
            "phases.RED.condition",
            "unknown name 'nope'",
            "use one of",
            id="unknown-metric",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(condition=parse_condition("iteration == true"))}),
            "phases.RED.condition",
            "int",
            "",
            id="mixed-types",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(condition=parse_condition("exit_signal == true"))}),
            "phases.RED.condition",
            "exit_signal is known",
            "metrics",
            id="signal-in-gate-1",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(condition=parse_condition("true"), replace=True)}),
            "phases.RED.condition",
            "measures nothing",
            "at least",
            id="gate-that-is-always-open",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(condition=parse_condition(" AND ".join(["iteration > 1"] * 499)))}),
            "phases.RED.condition",
            "",
            "",
            id="too-long-together",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(replace=True)}),
            "phases.RED.replace",
            "no condition to replace",
            "add a condition",
            id="replace-by-nothing",
        ),
        pytest.param(
            Overlay(phases={"RED": PhaseOverlay(guards=("nope",))}),
            "phases.RED.guards",
            "unknown guard 'nope'",
            "use one of",
            id="unknown-guard",
        ),
    ],
)
def test_overlay_refuses_with_place(overlay: Overlay, key: str, problem: str, remedy: str) -> None:
    placed = replace(overlay, places={key: "phase-gate.yaml:7:3"})
    with pytest.raises(ConfigurationError) as caught:
        apply_overlay(load_shipped_workflow("tdd"), placed)
    assert caught.value.problem.startswith("phase-gate.yaml:7:3: ")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-configuration"


# Schema


def as_json(node: YamlNode) -> object:
    if isinstance(node, YamlMapping):
        return {key.text: as_json(value) for key, value in node.entries}
    if isinstance(node, YamlSequence):
        return [as_json(item) for item in node.items]
    return scalar_value(node)


RIGHT = {"small": SMALL, "full": FULL, "gate": GATE, "four-gates": SEED_GATES.read_text()}
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
    documents = read_documents(text, name="own.yaml", limit=MAX_BYTES)
    assert all(validator.is_valid(as_json(document)) for document in documents) is is_accepted
    if is_accepted:
        parse(text)
    else:
        refusal_of(text)


# Fuzz

SIGNS = [*" :[]{}()'\"|\t\né", ": ", "- ", "&a ", "*a", "!!str ", "<<: ", "---\n"]
WORDS = [
    "true",
    "null",
    "-1",
    "1e400",
    "DONE",
    "AUTO",
    "tests_total",
    " AND ",
    " OR ",
    "==",
    "phase: X\n",
    "guards: [x]\n",
]
PIECES = st.sampled_from([*SIGNS, *WORDS])


@st.composite
def damaged(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """A good file with a few slices taken out or replaced."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 30))
        text = text[:start] + draw(PIECES | st.text(max_size=5)) + text[end:]
    return text


@given(damaged((SMALL, FULL, GATE, SEED_GATES.read_text())) | st.text(max_size=100) | st.binary(max_size=100))
@settings(deadline=None, max_examples=400 if IS_WHOLE else 60)
def test_only_our_errors_escape(text: str | bytes) -> None:
    try:
        workflow = parse(text)
    except (WorkflowError, DocumentError) as error:
        problem = error.problem
    else:
        problem = "own.yaml:" if workflow.phases else "accepted without phases"
    assert problem.startswith("own.yaml:")


@given(
    damaged(((PACKAGE / "workflows" / "guards.yaml").read_text(),)) | st.text(max_size=100) | st.binary(max_size=100)
)
@settings(deadline=None)
def test_only_our_errors_escape_from_guards(text: str | bytes) -> None:
    try:
        guards = parse_guards(text, "own.yaml")
    except (WorkflowError, DocumentError) as error:
        problem = error.problem
    else:
        problem = "own.yaml:" if all(guard.remedy for guard in guards.values()) else "a guard without a remedy"
    assert problem.startswith("own.yaml:")
