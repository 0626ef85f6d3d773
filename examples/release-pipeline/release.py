"""A team that takes a program through the pipeline: what it writes lies in `written`, what it decides stands below.

`python release.py` goes from the brief to DONE. `python release.py impatient` only ever says that it is done.
"""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

from phase_gate.cli import main

FOLDER = Path("docs/pipeline")

#: What each phase asks for.
WRITES = {
    "INTAKE": ["intake-brief.md"],
    "CONSENSUS_MASTER_PLAN": ["master-plan.md"],
    "ARCHITECTURE": ["architecture-plan.md", "snapshot"],
    "ROLE_PLANNING": ["roles/developer.md", "roles/reviewer.md"],
    "IMPLEMENTATION": ["snapshot"],
    "REVIEW": ["review-decision.md", "snapshot"],
    "AUDIT": ["audit.json"],
    "PRODUCTION_GATE": ["production-report.md"],
    "RECOVERY_LOOP": ["recovery-plan.md"],
}
SURCHARGE = "return 300 + 100 * kilograms + (1000 if kilograms > 20 else 0)"


def gate(*words):
    """Type `phase-gate WORDS`, here without the time that a process takes; return its exit code and its document."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main([*words, "--json"])
    return code, json.loads(said.getvalue())


def write(name, attempt):
    """Write something down, anew in every attempt: what was left from an earlier one does not count."""
    if name == "snapshot":
        gate("advance")
        return
    target = FOLDER / name
    target.parent.mkdir(parents=True, exist_ok=True)
    text = Path("written", name).read_text(encoding="utf-8")
    if name.endswith(".md"):
        text += f"\nThis is attempt {attempt}.\n"
    else:
        text = text.replace("nothing.", f"nothing, in attempt {attempt}.")
    target.write_text(text, encoding="utf-8")


def agree():
    for name in ("ann", "bob"):
        Path("vote.yaml").write_text(f"vote: approve\nconfidence: 0.97\nby: {name}\n", encoding="utf-8")
        gate("pipeline", "vote", "vote.yaml")
    Path("vote.yaml").unlink()


def build(attempt):
    """Write the program; at the first attempt nobody thinks of heavy parcels, whatever the tests say."""
    if attempt > 1:
        # Nobody planned this file: REVIEW will ask for another look at it.
        Path("pyproject.toml").write_text('[project]\nname = "parcel"\nversion = "1.0"\n', encoding="utf-8")
        source = Path("parcel.py").read_text(encoding="utf-8")
        Path("parcel.py").write_text(source.replace("return 300 + 100 * kilograms", SURCHARGE), encoding="utf-8")
    commit("build")


def mend():
    """Say why the gate failed: the record chooses where to go on."""
    failed = gate("pipeline", "recover")[1]["failed_phase"]
    record = {
        "failed_phase": failed,
        "summary": "the test of heavy parcels fails",
        "root_cause": "no role plan speaks of the surcharge",
        "requires_phase_rewind_to": "ROLE_PLANNING",
    }
    (FOLDER / "root-cause.json").write_text(json.dumps(record, indent=2), encoding="utf-8")


def commit(message):
    subprocess.run(["git", "add", "-A"], check=True)
    identity = ["-c", "user.name=team", "-c", "user.email=team@example.org"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", message], check=True)


def work(phase, attempts):
    """Do what the phase asks for."""
    attempt = attempts[phase] = attempts.get(phase, 0) + 1
    if phase == "IMPLEMENTATION":
        build(attempt)
    if phase == "RECOVERY_LOOP":
        mend()
    for name in WRITES.get(phase, ()):
        write(name, attempt)
    if phase.startswith("CONSENSUS") or phase == "RECOVERY_LOOP":
        agree()
    if phase == "QA_VALIDATION":
        subprocess.run([sys.executable, "-m", "pytest", "-q", "--phase=auto"], check=False, stdout=subprocess.DEVNULL)


def release():
    attempts, phase = {}, gate("advance")[1]["phase"]
    while phase != "DONE":
        work(phase, attempts)
        # The phase that follows begins with it; where the gate failed, the recovery does.
        _, verdict = gate("signal", "--reason", "the team has done what the phase asks for")
        print(f"{phase}: {verdict['reason']}")
        phase = gate("status")[1]["phase"]
    return 0


def impatient():
    gate("advance")
    while True:
        code, verdict = gate("signal", "--reason", "surely it is done")
        print(f"{verdict['phase']}: {verdict['reason']}")
        if code == 12:
            return code


if __name__ == "__main__":
    if not Path(".git").exists():
        subprocess.run(["git", "init", "-q"], check=True)
        commit("before the pipeline")
    sys.exit(impatient() if "impatient" in sys.argv else release())
