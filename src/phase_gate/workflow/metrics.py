"""The metrics that conditions may use, in one table. The reference page is generated from it.

A metric that was not measured has no value. It does not count as zero or true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.values import Value
from phase_gate.workflow.condition_text import ALIAS_CONDITIONS as ALIAS_CONDITIONS
from phase_gate.workflow.condition_text import ALIASES as ALIASES
from phase_gate.workflow.model import MetricType as MetricType

MetricValue = int | float | str | bool | None
Metrics = Mapping[str, MetricValue]


class Metric(Value, kw_only=False):
    """A metric's name, its type, and its meaning in one sentence."""

    name: str
    type: MetricType
    meaning: str


#: Metrics of test runs.
_MEASURED = (
    Metric("tests_total", "int", "Tests in scope that count: passing, failing and newly skipped"),
    Metric("tests_passing", "int", "Tests in scope that passed"),
    Metric("tests_failing", "int", "Tests in scope that failed or could not be collected"),
    Metric("suite_total", "int", "`tests_total` of the whole suite"),
    Metric("suite_passing", "int", "`tests_passing` of the whole suite"),
    Metric("suite_failing", "int", "`tests_failing` of the whole suite"),
    Metric("tests_skipped", "int", "All skipped tests"),
    Metric("tests_newly_skipped", "int", "Tests that were not skipped before"),
    Metric("tests_guarding", "int", "In RED: tests marked with `passes_already`; not counted elsewhere"),
    Metric(
        "tests_rows_passing",
        "int",
        "Passing parameter sets of a new test that also has failing ones",
    ),
    Metric("tests_xfailed", "int", "Tests that failed as their xfail mark expects"),
    Metric("tests_xpassed", "int", "Tests that passed despite a non-strict xfail mark"),
    Metric("tests_errors", "int", "Failing tests with an error in setup or teardown, or a crashed worker"),
    Metric("tests_flaky", "int", "Tests that passed only after a rerun"),
    Metric("tests_known_failing", "int", "Tests that failed in the baseline and still fail with the same body: exempt"),
    Metric("tests_not_run", "int", "Collected tests without a result"),
    Metric("tests_deselected", "int", "Tests that pytest deselected"),
    Metric("tests_unselected", "int", "Known tests that did not run"),
    Metric("tests_missing", "int", "Frozen tests that are gone and have not moved"),
    Metric("tests_uncollectable", "int", "Tests in modules that can't be imported"),
    Metric("tests_refused", "int", "Targets that fail for a reason that no code can fix"),
    Metric("tests_altered", "int", "Changes to frozen tests, their helpers or their data"),
    Metric("rules_changed", "int", "Pytest settings or rules that changed after the freeze"),
    Metric("outcomes_doubtful", "int", "Signs that an outcome was manipulated"),
    Metric("red_seen", "bool", "The tests of this cycle were seen failing, or the cycle began later"),
    Metric("red_resolved_elsewhere", "int", "Modules that were missing in RED and now come from outside the project"),
    Metric("collection_errors", "int", "Modules and other collectors that failed"),
    Metric("baseline_total", "int", "Tests in the baseline"),
    Metric("baseline_failing", "int", "Tests that passed in the baseline and now fail with the same body"),
    Metric("consecutive_green_runs", "int", "Complete green runs in a row on unchanged files"),
    Metric("iteration", "int", "Complete runs in this phase, including this one"),
    Metric("criteria_count", "int", "Acceptance criteria that need a test; 1 if none are given"),
    Metric("criteria_covered", "int", "Criteria with at least one marked test"),
    Metric("criteria_failing", "int", "Criteria with a failing test"),
    Metric("criteria_passing", "int", "Criteria whose tests all pass"),
    Metric("criteria_open", "int", "Criteria without a test: in RED a new one, later one that ran"),
    Metric("signals_premature", "int", "Exit signals of this cycle while Gate 1 was closed"),
    Metric("run_complete", "bool", "The run was complete"),
    Metric("run_kind", "text", "complete, partial, incomplete or empty"),
    Metric("code_as_tested", "bool", "The files, without documents, are those of the last complete green run"),
    Metric("duration_s", "number", "Duration of the session in seconds"),
)
#: Metrics of a proof.
_PROVEN = (
    Metric("targets_proven", "int", "Targets that fail without the change and pass with it"),
    Metric("targets_disproven", "int", "Targets that pass without the change, or fail with it in a sandbox"),
    Metric("targets_vacuous", "int", "Targets that pass whatever the changed functions do"),
    Metric("targets_unproven", "int", "Targets without a result"),
    Metric("functions_changed", "int", "New or changed functions in the proof"),
    Metric("functions_unnoticed", "int", "New or changed functions that can do nothing without a target failing"),
    Metric("proof_has_control", "bool", "The targets also ran without the change; not in REFACTOR"),
    Metric("proof_objections", "int", "Targets that close the gate; 0 before a proof is made"),
    Metric("proof_age", "int", "Iterations since the proof"),
)
#: Metrics that compare with the beginning of a phase or a cycle.
_COMPARED = (
    Metric("tree_clean", "bool", "Git has no uncommitted, staged or untracked files in this project"),
    Metric("files_changed", "int", "Files that changed since the phase began, committed or not"),
    Metric("files_changed_in_iteration", "int", "Files that changed since the last complete run"),
    Metric("commits", "int", "Commits since the phase began"),
    Metric("quality_before", "int", "Quality when the phase began: 0 is best, minus one for each finding of ruff"),
    Metric("quality_after", "int", "Quality now"),
    Metric("quality_delta", "int", "`quality_after` minus `quality_before`: positive is better"),
    Metric("improvements_found", "int", "Places in the code of this cycle that could be better"),
)
#: Metrics of the code that a cycle adds.
_NEW_CODE = (
    Metric("new_lines", "int", "New statements of this cycle; moved ones do not count"),
    Metric("new_lines_untested", "int", "New statements that did not run, according to coverage.py"),
)
#: Metrics of claims.
_CLAIMED = (
    Metric("indicators", "int", "Signs of completion in the last claim"),
    Metric("indicators_needed", "int", "Signs that the claim needs"),
    Metric("confidence", "int", "Points of the last claim, from 0 to 100"),
    Metric("confidence_needed", "int", "Points that the claim needs"),
    Metric("claimed_done", "bool", "The last claim contains a done block, and nothing contradicts it"),
    Metric("claim_passed", "bool", "The last claim is done, with enough indicators and confidence"),
)
#: Metrics of documents and verify tasks.
_WRITTEN = (
    Metric("docs_generated", "int", "Documents that count and are new or changed in this cycle"),
    Metric("diagrams_total", "int", "Mermaid and PlantUML diagrams"),
    Metric("diagrams_valid", "int", "Valid diagrams; unknown if one could not be checked"),
    Metric("has_adr", "bool", "There is a complete architecture decision record"),
    Metric("has_c4_diagrams", "bool", "There is a C4 diagram that is not known to be broken"),
    Metric("executor_status", "text", "The executor's report: success, failure or blocked"),
    Metric("done_criteria_met", "bool", "The executor reports that the done criteria are met"),
    Metric("verify_ran", "bool", "The verify command ran to its end in this attempt"),
    Metric("verify_exit_code", "int", "Exit code of the verify command"),
    Metric("verify_fresh", "bool", "No file changed since the verify command"),
    Metric("verify_problems", "int", "Reasons why the verify command proves nothing"),
    Metric("verify_tests", "int", "Tests that the verify command ran, if known"),
    Metric("files_unlisted", "int", "Changed files that the task does not list"),
)
#: Metrics of pipelines.
_OF_PIPELINES = (
    Metric("artifacts_missing", "int", "Required artifacts that are missing, old or invalid"),
    Metric("artifacts_unapproved", "int", "Artifacts that changed after their approval"),
    Metric("checks_failed", "int", "Required checks that failed"),
    Metric("checks_missing", "int", "Required checks without a result"),
    Metric("consensus_score", "number", "Mean weight of the votes on the current version"),
    Metric("consensus_voters", "int", "Reviewers who voted on the current version"),
    Metric("consensus_reached", "bool", "Enough votes and a sufficient score"),
    Metric("constitution_intact", "bool", "The constitution is unchanged, or its change was accepted"),
    Metric("pipeline_rules_changed", "int", "Rules that changed since the pipeline began"),
    Metric("requests_pending", "int", "Undecided change requests"),
    Metric("blocking_issues", "int", "Open blocking findings and undecided blocking requests"),
    Metric("drift_found", "int", "Changes since the plan was approved that it does not mention"),
    Metric("lines_changed", "int", "Lines added and removed since the plan was approved"),
    Metric("recoveries", "int", "Recoveries used by this pipeline"),
    Metric("attempt", "int", "Attempts at this phase or task"),
    Metric("fix_checked", "bool", "The checks of the failed phase pass, if the recovery returns there"),
    Metric("fix_tested", "bool", "The suite is green, if the recovery returns to a phase with tests"),
    Metric("root_cause_known", "bool", "The root-cause record is valid"),
    Metric("recovery_target", "text", "The phase after the recovery"),
)

#: In the order of the reference page.
METRICS: tuple[Metric, ...] = (
    *_MEASURED,
    *_PROVEN,
    *_COMPARED,
    *_NEW_CODE,
    *_CLAIMED,
    *_WRITTEN,
    *_OF_PIPELINES,
)
METRIC_TYPES: Mapping[str, MetricType] = {metric.name: metric.type for metric in METRICS}


def _names(metrics: Iterable[Metric]) -> frozenset[str]:
    return frozenset(metric.name for metric in metrics)


PROOF_METRICS = _names(_PROVEN)
NEW_CODE_METRICS = _names(_NEW_CODE)
CLAIM_METRICS = _names(_CLAIMED)
PIPELINE_METRICS = _names(_OF_PIPELINES)

#: All alternative names, with the metric or condition that they mean.
SPELLINGS: Mapping[str, str] = {**ALIASES, **ALIAS_CONDITIONS}


def show_value(value: MetricValue) -> str:
    """Return a value in the syntax of configuration files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
