"""`python -m scripts.record_state VERSION`: play a cycle, and keep its state folder in `tests/data`.

Later versions have to read the folders of released ones: `tests/e2e/test_recorded_state.py` opens each and goes on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parent.parent / "tests" / "data"
TESTS = """\
from fare import fare


def test_adults_pay_all():
    assert fare(30) == 10


def test_children_pay_half():
    assert fare(8) == 5
"""
CODE = """\
def fare(age):
    return 5 if age < 12 else 10
"""


def play(root: Path) -> None:
    """Play RED and GREEN to their ends, and one run of REFACTOR."""
    dropped = ("PHASE_GATE_", "PYTEST_", "GIT_", "CI", "GITHUB_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
    environment |= {"USER": "dev", "XDG_STATE_HOME": str(root.parent / "user")}

    def run(*words: str, code: int = 0) -> None:
        done = subprocess.run([sys.executable, "-m", *words], cwd=root, env=environment, check=False)
        if done.returncode != code:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode} instead of {code}")

    (root / "test_fare.py").write_text(TESTS, encoding="utf-8")
    run("pytest", "--phase=red")
    run("phase_gate.cli", "signal", "--reason", "both fail for lack of fare")
    (root / "fare.py").write_text(CODE, encoding="utf-8")
    run("pytest", "--phase=green", code=10)
    run("pytest", "--phase=green")
    run("phase_gate.cli", "signal", "--reason", "both pass, twice")
    run("pytest", "--phase=refactor")


def main() -> None:
    (version,) = sys.argv[1:]
    kept = DATA / f"state-{version}"
    with tempfile.TemporaryDirectory(prefix="fare-") as folder:
        root = Path(folder, "fare")
        root.mkdir()
        play(root)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for path in root.glob("*.py"):
            shutil.copy(path, kept / f"{path.name}.txt")  # this repository's own tools pass over it
        # Without `cache/`, so that the whole ledger is read.
        shutil.copytree(root / ".phase-gate", kept / "state", ignore=shutil.ignore_patterns(".*", "*.lock", "cache"))


if __name__ == "__main__":
    main()
