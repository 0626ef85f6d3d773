"""`phase-gate ci attest`: the last run and its verdict as in-toto statements, one a line. Only looks."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate._version import __version__
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import render_json, write_output
from phase_gate.errors import NotAllowedError
from phase_gate.gate.outcomes import FAILING, Bucket
from phase_gate.gate.standing import say_changed
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import TaskStore
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.storage.tree.git import NoGitError, run_git
from phase_gate.storage.tree.git_status import read_status
from phase_gate.task import Task
from phase_gate.visible import count
from phase_gate.workflow.names import run_command

#: Who verified: with the version, for its rules may change.
VERIFIER = f"urn:pytest-phase-gate:{__version__}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--predicate", choices=("test-result", "svr"), help="only the run, or only the verdict (default: both)"
    )
    parser.add_argument("--verifier", metavar="URI", default=VERIFIER, help="who verified (default: this version)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the statements there, one a line")


def run(call: Call) -> Answer:
    arguments, task = call.arguments, call.task()
    task.require_begun()
    state = task.state
    document = _verdict(task)
    subject = _subject(task.project, task.tree)
    rules = {"name": f"workflow {state.workflow}", "digest": {"sha256": state.rules}}
    statements = []
    if arguments.predicate != "svr":
        statements.append(
            state_outcomes(subject, _outcomes(task.store, state), rules=rules, url=_url(call.environment))
        )
    if arguments.predicate != "test-result":
        statements.append(state_verdict(subject, document, rules=rules, verifier=arguments.verifier))
    text = "\n".join(render_json(each) for each in statements)
    if arguments.output is None:
        return Answer(text=text, document={"statements": statements})
    write_output(call.start / arguments.output, f"{text}\n")
    return Answer(
        text=f"wrote {arguments.output}: {count(len(statements), 'unsigned statement')} about {_show(subject)}",
        document={"statements": statements},
    )


def _verdict(task: Task) -> Mapping[str, Any]:
    """Return the last verdict. Raises NotAllowedError where it does not speak of a complete run on these sources."""
    state, behind = task.state, task.outdated()
    if behind is not None:
        raise NotAllowedError(behind.reason, remedy=behind.next_command or behind.next_hint)
    document = state.evaluation
    if document is None or document["iteration"] is None or state.snapshots.latest is None:
        raise NotAllowedError("no complete run was judged yet", remedy=task.way_on)
    if document["run"] is None and task.tree.digest != state.trees.last:
        # A verdict without a run may be about documents alone: it vouches for no code.
        raise NotAllowedError(say_changed(task.changed_files), remedy=run_command("auto", state.task))
    return document


def _outcomes(store: TaskStore, state: State) -> dict[str, Bucket]:
    assert state.snapshots.latest is not None
    odd = store.objects.load(state.snapshots.latest.outcomes)
    ids = store.objects.load_inventory(state.snapshots.latest.inventory).ids()
    return {test_id: Bucket(odd.get(test_id, Bucket.PASSED)) for test_id in ids}


def _subject(project: Project, tree: Tree) -> dict[str, Any]:
    """Return what was tested: a commit, if all of it is committed; without git, the fingerprint of the files."""
    kind, _, digest = tree.digest.partition(":")
    if kind != "git":
        return {"name": "fingerprint of the sources", "digest": {"sha256": digest}}
    try:
        # All of the repository: a commit is about all of it.
        top = os.fsdecode(run_git(str(project.root), "rev-parse", "--show-toplevel")).rstrip("\n")
        status = read_status(top, untracked="normal")
    except NoGitError:
        status = None
    if status is None or status.head is None:
        raise NotAllowedError("there is no commit that a statement could be about", remedy="commit first")
    # What git does not know, and does not count either, is an output of the run.
    inside = relative_id(project.root, Path(top))
    counted = [path if inside == "." else f"{inside}/{path}" for path in tree.files]
    new = (path for path in status.untracked if path.endswith(".py") or any(map(_matcher(path), counted)))
    changed = sorted([*status.tracked, *new])
    if changed:
        raise NotAllowedError(
            f"{changed[0]} is not committed, so what was tested is no commit",
            remedy=f"commit it, then {run_command('auto', project.task)} on the clean tree",
        )
    return {"digest": {"gitCommit": status.head}}


def _matcher(path: str) -> Callable[[str], bool]:
    """Return whether a file is the given one, or lies in the given folder."""
    return lambda file: file == path or (path.endswith("/") and file.startswith(path))


def _url(environment: Mapping[str, str]) -> str:
    """Return where the run can be looked at, if the CI system says so."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    if all(environment.get(name) for name in names):
        server, repository, run_id = (environment[name] for name in names)
        return f"{server}/{repository}/actions/runs/{run_id}"
    return environment.get("CI_JOB_URL", "")


def _show(subject: Mapping[str, Any]) -> str:
    (kind, digest), *_ = subject["digest"].items()
    return f"{'commit' if kind == 'gitCommit' else 'sources'} {digest[:12]}"


# --- a run and its verdict as in-toto statements, unsigned: signing is the business of who has a key


STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
VERIFICATION = "https://in-toto.io/attestation/svr/v0.2"

#: In front of every property, as the predicate wants it: whose word it is.
_PREFIX = "PHASE_GATE_"

#: Something about code, rules or a file, with its digest.
Descriptor = Mapping[str, Any]


def state_outcomes(
    subject: Descriptor, outcomes: Mapping[str, Bucket], *, rules: Descriptor, url: str = ""
) -> dict[str, Any]:
    """Return what a run of the tests showed. What neither passed nor failed plainly is a warning."""
    passed = sorted(test_id for test_id, bucket in outcomes.items() if bucket is Bucket.PASSED)
    failed = sorted(test_id for test_id, bucket in outcomes.items() if bucket in FAILING)
    warned = sorted(outcomes.keys() - {*passed, *failed})
    predicate = {
        "result": "FAILED" if failed else "WARNED" if warned or not passed else "PASSED",
        "configuration": [dict(rules)],
        **({"url": url} if url else {}),
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
    }
    return _statement(subject, TEST_RESULT, predicate)


def state_verdict(
    subject: Descriptor, document: Mapping[str, Any], *, rules: Descriptor, verifier: str
) -> dict[str, Any]:
    """Return what was verified, from an evaluation's JSON document: only what holds, and nothing that was waived."""
    predicate = {
        "verifier": {"id": verifier, "policies": [dict(rules)]},
        "timeCreated": document["timestamp"],
        "properties": list(_properties(document)),
    }
    return _statement(subject, VERIFICATION, predicate)


def _properties(document: Mapping[str, Any]) -> Iterable[str]:
    gate_1, phase = document["gate_1"], _name(document["phase"])
    is_waived = any(guard["waived"] for guard in gate_1["guards"])
    if gate_1["open"] and not is_waived:
        yield f"{_PREFIX}{phase}_GATE_1"
    if document["gate_2"]["open"]:
        yield f"{_PREFIX}{phase}_GATE_2"
    if document["can_exit"] and not document["forced_exit"] and not is_waived:
        yield f"{_PREFIX}{phase}_EXIT"
    # A guard may hold while something is odd about it: RED that was never seen closes nothing in a fresh checkout.
    odd = {name for row in document["findings"] for name in (row["slug"], row["guard"])}
    for guard in gate_1["guards"]:
        if guard["met"] is True and not guard["waived"] and guard["name"] not in odd:
            yield f"{_PREFIX}{_name(guard['name'])}"


def _name(text: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")


def _statement(subject: Descriptor, predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "_type": STATEMENT,
        "subject": [dict(subject)],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }
