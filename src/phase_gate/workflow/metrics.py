"""The metrics that conditions may use, in one table. The reference page is generated from it.

A metric that was not measured has no value. It does not count as zero or true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.values import Literal

MetricType = Literal["int", "number", "bool", "text"]
MetricValue = int | float | str | bool | None
Metrics = Mapping[str, MetricValue]

#: Name, type, and meaning in one sentence.
_Row = tuple[str, MetricType, str]

#: Metrics of test runs.
_MEASURED: tuple[_Row, ...] = (
    ("tests_total", "int", "Tests in scope that count: passing, failing and newly skipped"),
    ("tests_passing", "int", "Tests in scope that passed"),
    ("tests_failing", "int", "Tests in scope that failed or could not be collected"),
    ("suite_total", "int", "`tests_total` of the whole suite"),
    ("suite_passing", "int", "`tests_passing` of the whole suite"),
    ("suite_failing", "int", "`tests_failing` of the whole suite"),
    ("tests_skipped", "int", "All skipped tests"),
    ("tests_newly_skipped", "int", "Tests that were not skipped before"),
    ("tests_guarding", "int", "In RED: tests marked with `passes_already`; not counted elsewhere"),
    ("tests_rows_passing", "int", "Passing parameter sets of a new test that also has failing ones"),
    ("tests_xfailed", "int", "Tests that failed as their xfail mark expects"),
    ("tests_xpassed", "int", "Tests that passed despite a non-strict xfail mark"),
    ("tests_errors", "int", "Failing tests with an error in setup or teardown, or a crashed worker"),
    ("tests_flaky", "int", "Tests that passed only after a rerun"),
    ("tests_known_failing", "int", "Tests that failed in the baseline and still fail with the same body: exempt"),
    ("tests_not_run", "int", "Collected tests without a result"),
    ("tests_deselected", "int", "Tests that pytest deselected"),
    ("tests_unselected", "int", "Known tests that did not run"),
    ("tests_missing", "int", "Frozen tests that are gone and have not moved"),
    ("tests_uncollectable", "int", "Tests in modules that can't be imported"),
    ("tests_refused", "int", "Targets that fail for a reason that no code can fix"),
    ("tests_altered", "int", "Changes to frozen tests, their helpers or their data"),
    ("rules_changed", "int", "Pytest settings or rules that changed after the freeze"),
    ("outcomes_doubtful", "int", "Signs that an outcome was manipulated"),
    ("red_seen", "bool", "The tests of this cycle were seen failing, or the cycle began later"),
    ("red_resolved_elsewhere", "int", "Modules that were missing in RED and now come from outside the project"),
    ("collection_errors", "int", "Modules and other collectors that failed"),
    ("baseline_total", "int", "Tests in the baseline"),
    ("baseline_failing", "int", "Tests that passed in the baseline and now fail with the same body"),
    ("consecutive_green_runs", "int", "Complete green runs in a row on unchanged files"),
    ("iteration", "int", "Complete runs in this phase, including this one"),
    ("criteria_count", "int", "Acceptance criteria that need a test; 1 if none are given"),
    ("criteria_covered", "int", "Criteria with at least one marked test"),
    ("criteria_failing", "int", "Criteria with a failing test"),
    ("criteria_passing", "int", "Criteria whose tests all pass"),
    ("criteria_open", "int", "Criteria without a test: in RED a new one, later one that ran"),
    ("signals_premature", "int", "Exit signals of this cycle while Gate 1 was closed"),
    ("run_complete", "bool", "The run was complete"),
    ("run_kind", "text", "complete, partial, incomplete or empty"),
    ("code_as_tested", "bool", "The files, without documents, are those of the last complete green run"),
    ("duration_s", "number", "Duration of the session in seconds"),
)
#: Metrics of a proof.
_PROVEN: tuple[_Row, ...] = (
    ("targets_proven", "int", "Targets that fail without the change and pass with it"),
    ("targets_disproven", "int", "Targets that pass without the change, or fail with it in a sandbox"),
    ("targets_vacuous", "int", "Targets that pass whatever the changed functions do"),
    ("targets_unproven", "int", "Targets without a result"),
    ("functions_changed", "int", "New or changed functions in the proof"),
    ("functions_unnoticed", "int", "New or changed functions that can do nothing without a target failing"),
    ("proof_has_control", "bool", "The targets also ran without the change; not in REFACTOR"),
    ("proof_objections", "int", "Targets that close the gate; 0 before a proof is made"),
    ("proof_age", "int", "Iterations since the proof"),
)
#: Metrics that compare with the beginning of a phase or a cycle.
_COMPARED: tuple[_Row, ...] = (
    ("tree_clean", "bool", "Git has no uncommitted, staged or untracked files in this project"),
    ("files_changed", "int", "Files that changed since the phase began, committed or not"),
    ("files_changed_in_iteration", "int", "Files that changed since the last complete run"),
    ("commits", "int", "Commits since the phase began"),
    ("quality_before", "int", "Quality when the phase began: 0 is best, minus one for each finding of ruff"),
    ("quality_after", "int", "Quality now"),
    ("quality_delta", "int", "`quality_after` minus `quality_before`: positive is better"),
    ("improvements_found", "int", "Places in the code of this cycle that could be better"),
)
#: Metrics of the code that a cycle adds.
_NEW_CODE: tuple[_Row, ...] = (
    ("new_lines", "int", "New statements of this cycle; moved ones do not count"),
    ("new_lines_untested", "int", "New statements that did not run, according to coverage.py"),
)
#: Metrics of claims.
_CLAIMED: tuple[_Row, ...] = (
    ("indicators", "int", "Signs of completion in the last claim"),
    ("indicators_needed", "int", "Signs that the claim needs"),
    ("confidence", "int", "Points of the last claim, from 0 to 100"),
    ("confidence_needed", "int", "Points that the claim needs"),
    ("claimed_done", "bool", "The last claim contains a done block, and nothing contradicts it"),
    ("claim_passed", "bool", "The last claim is done, with enough indicators and confidence"),
)
#: Metrics of documents.
_DOCUMENTED: tuple[_Row, ...] = (
    ("docs_generated", "int", "Documents that count and are new or changed in this cycle"),
    ("diagrams_total", "int", "Mermaid and PlantUML diagrams"),
    ("diagrams_valid", "int", "Valid diagrams; unknown if one could not be checked"),
    ("all_diagrams_valid", "bool", "There is a diagram, and all are valid; unknown if one could not be checked"),
    ("has_adr", "bool", "There is a complete architecture decision record"),
    ("has_c4_diagrams", "bool", "There is a C4 diagram that is not known to be broken"),
)
#: Metrics of verify tasks.
_VERIFIED: tuple[_Row, ...] = (
    ("executor_status", "text", "The executor's report: success, failure or blocked"),
    ("done_criteria_met", "bool", "The executor reports that the done criteria are met"),
    ("verify_ran", "bool", "The verify command ran to its end in this attempt"),
    ("verify_exit_code", "int", "Exit code of the verify command"),
    ("verify_fresh", "bool", "No file changed since the verify command"),
    ("verify_problems", "int", "Reasons why the verify command proves nothing"),
    ("verify_tests", "int", "Tests that the verify command ran, if known"),
    ("files_unlisted", "int", "Changed files that the task does not list"),
)
#: Metrics of pipelines.
_OF_PIPELINES: tuple[_Row, ...] = (
    ("artifacts_missing", "int", "Required artifacts that are missing, old or invalid"),
    ("artifacts_unapproved", "int", "Artifacts that changed after their approval"),
    ("checks_failed", "int", "Required checks that failed"),
    ("checks_missing", "int", "Required checks without a result"),
    ("consensus_score", "number", "Mean weight of the votes on the current version"),
    ("consensus_voters", "int", "Reviewers who voted on the current version"),
    ("consensus_reached", "bool", "Enough votes and a sufficient score"),
    ("constitution_intact", "bool", "The constitution is unchanged, or its change was accepted"),
    ("pipeline_rules_changed", "int", "Rules that changed since the pipeline began"),
    ("requests_pending", "int", "Undecided change requests"),
    ("blocking_issues", "int", "Open blocking findings and undecided blocking requests"),
    ("drift_found", "int", "Changes since the plan was approved that it does not mention"),
    ("lines_changed", "int", "Lines added and removed since the plan was approved"),
    ("recoveries", "int", "Recoveries used by this pipeline"),
    ("attempt", "int", "Attempts at this phase or task"),
    ("fix_checked", "bool", "The checks of the failed phase pass, if the recovery returns there"),
    ("fix_tested", "bool", "The suite is green, if the recovery returns to a phase with tests"),
    ("root_cause_known", "bool", "The root-cause record is valid"),
    ("recovery_target", "text", "The phase after the recovery"),
)

#: In the order of the reference page.
METRICS = (*_MEASURED, *_PROVEN, *_COMPARED, *_NEW_CODE, *_CLAIMED, *_DOCUMENTED, *_VERIFIED, *_OF_PIPELINES)
METRIC_TYPES: Mapping[str, MetricType] = {name: kind for name, kind, _ in METRICS}


def _names(rows: Iterable[_Row]) -> frozenset[str]:
    return frozenset([name for name, _, _ in rows])


PROOF_METRICS = _names(_PROVEN)
NEW_CODE_METRICS = _names(_NEW_CODE)
CLAIM_METRICS = _names(_CLAIMED)
DOCUMENT_METRICS = _names(_DOCUMENTED)
PIPELINE_METRICS = _names(_OF_PIPELINES)


def show_value(value: MetricValue) -> str:
    """Return a value in the syntax of configuration files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
