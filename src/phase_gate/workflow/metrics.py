"""The names that conditions may speak of: one table, from which the reference is generated.

A metric that was not measured has no value at all. Unknown is never zero and never true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.values import Literal, Value

MetricType = Literal["int", "number", "bool", "text"]
MetricValue = int | float | str | bool | None
Metrics = Mapping[str, MetricValue]


class Metric(Value, kw_only=False):
    """One name, its type, and what it says in a sentence."""

    name: str
    type: MetricType
    meaning: str


#: What runs of the tests give.
_MEASURED = (
    Metric("tests_total", "int", "Tests in the phase's scope that count: passing, failing and newly skipped ones"),
    Metric("tests_passing", "int", "Tests in scope that passed"),
    Metric("tests_failing", "int", "Tests in scope that failed, in any stage, or could not be collected"),
    Metric("suite_total", "int", "Like `tests_total`, always of the whole suite"),
    Metric("suite_passing", "int", "Like `tests_passing`, always of the whole suite"),
    Metric("suite_failing", "int", "Like `tests_failing`, always of the whole suite"),
    Metric("tests_skipped", "int", "Skipped tests, exempt ones and new ones together"),
    Metric("tests_newly_skipped", "int", "Newly skipped tests: neither passing nor exempt"),
    Metric(
        "tests_guarding", "int", "Tests marked with `passes_already`, in a phase that wants failing tests; in no count"
    ),
    Metric(
        "tests_rows_passing", "int", "Rows that pass of new parametrised tests that another row fails of; in no count"
    ),
    Metric("tests_xfailed", "int", "Tests that failed as their xfail mark said"),
    Metric("tests_xpassed", "int", "Tests that passed against their non-strict xfail mark"),
    Metric("tests_errors", "int", "Failing tests whose setup or teardown failed, or whose worker crashed"),
    Metric("tests_flaky", "int", "Tests that passed only after a rerun"),
    Metric("tests_known_failing", "int", "Tests that failed in the baseline with the same body and still do: exempt"),
    Metric("tests_not_run", "int", "Collected tests that have no result"),
    Metric("tests_deselected", "int", "Tests that pytest collected and then deselected"),
    Metric("tests_unselected", "int", "Known tests that are still in the sources and did not run"),
    Metric("tests_missing", "int", "Frozen tests that are no longer in the sources, and have not moved"),
    Metric("tests_uncollectable", "int", "Tests counted from the source of modules that failed to import"),
    Metric("tests_refused", "int", "Failing targets whose failure is no reason to write code"),
    Metric("tests_altered", "int", "Changes to frozen tests, to the code around them, or to files that they use"),
    Metric("rules_changed", "int", "Settings of pytest, or rules of ours, that are not what they were at the freeze"),
    Metric("outcomes_doubtful", "int", "Signs that an outcome is not what the test itself gave"),
    Metric("red_seen", "bool", "The tests of this cycle were red before; true where a cycle honestly began later"),
    Metric("red_resolved_elsewhere", "int", "Modules that were missing in RED and are now found outside the project"),
    Metric("collection_errors", "int", "Modules and other collectors that failed"),
    Metric("baseline_total", "int", "Tests in the baseline"),
    Metric("baseline_failing", "int", "Tests that passed in the baseline and fail now with the same body"),
    Metric("consecutive_green_runs", "int", "Complete green runs in a row on one unchanged tree"),
    Metric("iteration", "int", "Complete runs in this phase, this one included"),
    Metric(
        "criteria_count",
        "int",
        "Acceptance criteria, without waived ones, in RED without those that older tests show; 1 if none are given",
    ),
    Metric("criteria_covered", "int", "Criteria with an id that at least one test is marked with"),
    Metric("criteria_failing", "int", "Criteria with an id, one of whose tests fails"),
    Metric("criteria_passing", "int", "Criteria with an id that has tests, all of which pass"),
    Metric("criteria_open", "int", "Criteria that no test shows: in RED no new one, later none that ran"),
    Metric("signals_premature", "int", "Exit signals in this cycle that came while Gate 1 was closed"),
    Metric("run_complete", "bool", "The run was of kind `complete`"),
    Metric("run_kind", "text", "The kind of the run: complete, partial, incomplete or empty"),
    Metric("code_as_tested", "bool", "The tree, docs left out, is what the last complete green run left"),
    Metric("duration_s", "number", "Seconds from the start of the session to its end"),
)
#: What a proof gives.
_PROVEN = (
    Metric("targets_proven", "int", "Targets that fail without the change and pass with it, tried in sandboxes"),
    Metric("targets_disproven", "int", "Targets that pass without the change, or fail with it in a clean sandbox"),
    Metric("targets_vacuous", "int", "Targets that pass whatever the new or changed functions do"),
    Metric("targets_unproven", "int", "Targets that the proof says nothing about"),
    Metric("functions_changed", "int", "New or changed functions that the proof looked at"),
    Metric("functions_unnoticed", "int", "New or changed functions that no target notices when they do nothing"),
    Metric("proof_has_control", "bool", "The targets were tried without the change, too: not in REFACTOR"),
    Metric("proof_objections", "int", "Targets that the proof keeps the gate closed for; 0 before it is made"),
    Metric("proof_age", "int", "Iterations since the proof was made"),
)
#: What is compared with the beginning of a phase or a cycle.
_COMPARED = (
    Metric("tree_clean", "bool", "Git has nothing uncommitted, staged or untracked in this project"),
    Metric("files_changed", "int", "Files that are not what they were when the phase began, committed or not"),
    Metric(
        "files_changed_in_iteration", "int", "Files that are not what they were at the end of the last complete run"
    ),
    Metric("commits", "int", "Commits since the phase began"),
    Metric("quality_before", "int", "Quality when the phase began: 0 is best, each finding of ruff takes a point"),
    Metric("quality_after", "int", "Quality now, counted in the same way"),
    Metric("quality_delta", "int", "`quality_after` less `quality_before`: above 0 the code is better than it was"),
    Metric("improvements_found", "int", "Places in the code of this cycle that could still be better"),
)
#: What is measured of the code that a cycle adds.
_NEW_CODE = (
    Metric("new_lines", "int", "New statements in the code of this cycle, by content: what was moved is not new"),
    Metric("new_lines_untested", "int", "New statements that did not run, by what coverage.py measured of this run"),
)
#: What only a claim can give.
_CLAIMED = (
    Metric("indicators", "int", "Signs of completion in the last claim about this iteration, in words and measured"),
    Metric("indicators_needed", "int", "Signs that this claim needs: `exit_gate.indicator_threshold`, or its kind's"),
    Metric("confidence", "int", "Points from 0 to 100 of the last claim about this iteration"),
    Metric("confidence_needed", "int", "Points that this claim needs: `confidence.threshold`, of what can be measured"),
    Metric(
        "claimed_done",
        "bool",
        "The last claim about this iteration says done in a status block, and nothing speaks against it",
    ),
    Metric(
        "claim_passed",
        "bool",
        "The last claim about this iteration says done, with the indicators and the confidence that it needs",
    ),
)
#: What documents and verify tasks give.
_WRITTEN = (
    Metric("docs_generated", "int", "Documents that count, and are new or have another text since the cycle began"),
    Metric(
        "diagrams_total",
        "int",
        "Mermaid and PlantUML diagrams in the documents, and in files of their own",
    ),
    Metric(
        "diagrams_valid",
        "int",
        "Diagrams that their parser accepts; unknown as long as one of them could not be checked",
    ),
    Metric("has_adr", "bool", "A complete architecture decision record exists"),
    Metric("has_c4_diagrams", "bool", "A C4 diagram exists that is not known to be broken"),
    Metric("executor_status", "text", "What the executor of this attempt reports: success, failure or blocked"),
    Metric("done_criteria_met", "bool", "The executor of this attempt says that the done-criteria are met"),
    Metric("verify_ran", "bool", "We ran the task's verify command in this attempt, to its end"),
    Metric("verify_exit_code", "int", "What the verify command ended with"),
    Metric("verify_fresh", "bool", "The files are what the verify command left"),
    Metric("verify_problems", "int", "Reasons why the verify command proves nothing, even if it passes"),
    Metric("verify_tests", "int", "Tests that the verify command ran, as far as that can be told"),
    Metric("files_unlisted", "int", "Files that changed since the task was taken, and that it does not list"),
)
#: What only a pipeline can give.
_OF_PIPELINES = (
    Metric("artifacts_missing", "int", "Required artifacts that are not there, not new, or not what they have to be"),
    Metric("artifacts_unapproved", "int", "Approved artifacts that are not what the reviewers agreed on"),
    Metric("checks_failed", "int", "Required checks whose command failed"),
    Metric("checks_missing", "int", "Required checks without a result: no command, skipped, or not in time"),
    Metric("consensus_score", "number", "Mean of what each vote on the present version weighs; unknown without votes"),
    Metric("consensus_voters", "int", "Reviewers who voted on the present version in this attempt"),
    Metric("consensus_reached", "bool", "Enough reviewers voted, and the score is what the phase asks for"),
    Metric("constitution_intact", "bool", "The constitution is what it was when the pipeline began, or was accepted"),
    Metric("pipeline_rules_changed", "int", "Rules of the pipeline that are not what they were when it began"),
    Metric("requests_pending", "int", "Change requests without a decision"),
    Metric("blocking_issues", "int", "Blocking findings that are open, and blocking requests without a decision"),
    Metric("drift_found", "int", "Changes since the plan was approved that it did not speak of"),
    Metric("lines_changed", "int", "Lines added and removed since the plan was approved"),
    Metric("recoveries", "int", "Recoveries that this pipeline has used up"),
    Metric("attempt", "int", "How often this phase was entered in this pipeline, or this task of a list was tried"),
    Metric(
        "fix_checked", "bool", "The checks of the phase that the recovery leads back to pass, if that is the failed one"
    ),
    Metric(
        "fix_tested", "bool", "The suite is green on these files, where the recovery leads back to a phase of tests"
    ),
    Metric("root_cause_known", "bool", "The root-cause record is valid, and where it leads to is allowed"),
    Metric("recovery_target", "text", "The phase that follows the recovery"),
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

#: Other spellings that conditions may use, and what they stand for.
ALIASES: Mapping[str, str] = {"no_improvements_found": "no_more_improvements_identified"}

#: Spellings that stand for a whole condition. `all_diagrams_valid` with no diagram at all is not enough.
ALIAS_CONDITIONS: Mapping[str, str] = {
    "all_diagrams_valid": "(diagrams_total > 0 AND diagrams_valid == diagrams_total)",
}
#: Both, by their spellings.
SPELLINGS: Mapping[str, str] = {**ALIASES, **ALIAS_CONDITIONS}


def show_value(value: MetricValue) -> str:
    """Return a value as it stands in a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
