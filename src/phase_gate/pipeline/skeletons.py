"""What an artifact has to be, in words, and a file to begin it with. Pure.

What a skeleton leaves open is a hole of a template: as long as one is in it, the file does not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from phase_gate.pipeline.model import Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.workflow.model import AUDIT, ROOT_CAUSE, Artifact, Consensus, Phase, Workflow, requires_of

_JSON_WORDS: Mapping[str, str] = {
    AUDIT: "JSON with a summary and findings",
    ROOT_CAUSE: "JSON with failed_phase, summary, root_cause and requires_phase_rewind_to",
}

_VOTE = """\
vote: <approve, conditional or reject>
confidence: <how sure you are, 0 to 1>
by: <your name>
reason: <what has to change; not needed to approve>
"""


def words_of_artifact(artifact: Artifact) -> tuple[str, ...]:
    """Return what the artifact's content has to be, one requirement each."""
    wants = []
    if artifact.schema:
        wants.append(_JSON_WORDS.get(artifact.schema, f"JSON that fits {artifact.schema}"))
    elif artifact.min_words > 1:
        wants.append(f"{artifact.min_words} different words")
    if artifact.line:
        wants.append(f"a {words_of_line(artifact)}")
    if artifact.pattern:
        wants.append(words_of_pattern(artifact))
    return tuple(wants)


def words_of_line(artifact: Artifact) -> str:
    return f'line "{artifact.line}"'


def words_of_pattern(artifact: Artifact) -> str:
    # Where the expression stands, not the expression: the file beside it can say what it is for.
    return f"text that fits artifacts.{artifact.name}.pattern"


def skeletons_of(workflow: Workflow, phase: Phase, pipeline: Pipeline) -> dict[str, str]:
    """Return the files that the phase asks for, by path, each with a text to begin with.

    A snapshot is made by its command, and for a JSON Schema of the project nothing can be made up.
    """
    rules, requires = rules_of(workflow), requires_of(phase)
    texts: dict[str, str] = {}
    for name in requires.artifacts:
        text = _skeleton(rules.artifacts[name], pipeline)
        if text:
            texts[_path_in(rules.artifacts[name])] = text
    if requires.consensus is not None:
        texts[vote_file(workflow, requires.consensus)] = _VOTE
    return texts


def vote_file(workflow: Workflow, consensus: Consensus) -> str:
    """Return where a reviewer's vote may lie: beside what is voted on, for it is no part of the code."""
    first = rules_of(workflow).artifacts[consensus.on[0]]
    folders = [part for part in PurePosixPath(first.path).parts[:-1] if not _is_glob(part)]
    return "/".join((*folders, "vote.yaml"))


def root_cause_record(failed_phase: str) -> dict[str, Any]:
    """Return a root-cause record to fill in."""
    return {
        "failed_phase": failed_phase,
        "summary": "<what happened, in a sentence>",
        "root_cause": "<why it happened>",
        "requires_phase_rewind_to": None,
    }


def _skeleton(artifact: Artifact, pipeline: Pipeline) -> str:
    if artifact.schema == ROOT_CAUSE:
        return _json(root_cause_record(pipeline.failed_phase))
    if artifact.schema == AUDIT:
        return _json({"summary": "<what was looked at, and what was found>", "findings": []})
    if artifact.schema:
        return ""
    return "\n\n".join(_pieces(artifact)) + "\n"


def _pieces(artifact: Artifact) -> Iterator[str]:
    yield f"# {artifact.name.replace('-', ' ').capitalize()}"
    yield f"{{{{ write it here, with at least {artifact.min_words} different words }}}}"
    if artifact.line:
        yield f"{{{{ once it is so, put this line here instead: {artifact.line} }}}}"
    if artifact.pattern:
        yield f"{{{{ put {words_of_pattern(artifact)} here }}}}"


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _path_in(artifact: Artifact) -> str:
    """Return a path that the artifact's glob finds."""
    path = re.sub(r"\*\*/", "", artifact.path)
    return re.sub(r"\[[^]]*\]|\?", "1", path).replace("*", "first")


def _is_glob(part: str) -> bool:
    return any(character in part for character in "*?[")
