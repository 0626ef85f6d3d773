"""Row 50: code that git does not show: ignored, excluded, behind a link. It is as much part of a run as any other."""

from __future__ import annotations

from phase_gate.values import replace
from tests.integrity.rows import BAD, CONFIGURATION, GOOD, TEST_FILE, TESTS, Attempt, Base, Row
from tests.integrity.shared import cheat

_REPOSITORY = (
    ("git", "init", "-q"),
    ("git", "add", "."),
    ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"),
)
_EXCLUDED = Base(
    files=(("pytest.ini", CONFIGURATION), (TEST_FILE, TESTS), (".git/info/exclude", "price.py\n")), commands=_REPOSITORY
)
_LINKED = Base(
    files=(("pytest.ini", CONFIGURATION), (TEST_FILE, TESTS), (".gitignore", "hidden/\n"), ("hidden/readme", "")),
    commands=(("ln", "-s", "hidden/price.py", "price.py"), *_REPOSITORY),
)
_HELPER = "def check_total(given, expected):\n    from price import total\n\n    assert total(given) == expected\n"
_IGNORED_HELPER = Base(
    files=(
        ("pytest.ini", CONFIGURATION),
        (TEST_FILE, "from helpers import check_total\n\n\ndef test_total():\n    check_total([1], 1)\n"),
        ("tests/helpers.py", _HELPER),
        (".gitignore", "helpers.py\n"),
    ),
    commands=_REPOSITORY,
)
_OTHER = GOOD.replace("sum(prices)", "sum(prices, 0)")
_XDIST = ("-p", "xdist", "-n", "1")

#: Green, edited, green again: that is one green run on each code, and not two on one.
_BETWEEN = Attempt(base=_EXCLUDED, runs=((),), then=Attempt(code=_OTHER, runs=((),)))
#: Green twice, edited, and then asked.
_AFTER = Attempt(base=_EXCLUDED, then=Attempt(code=BAD, runs=()))
_SHORT, _CHANGED = "one more green run", "files have changed since the last run"

UNSEEN: tuple[Row, ...] = (
    cheat("an excluded source is edited between two runs", _BETWEEN, _SHORT),
    cheat("an excluded source is edited after the runs", _AFTER, _CHANGED),
    cheat("an excluded source is edited after runs on a worker", replace(_AFTER, arguments=_XDIST), _CHANGED),
    cheat("a source behind a link is edited after the runs", replace(_AFTER, base=_LINKED), _CHANGED),
    cheat(
        "an ignored helper is emptied",
        Attempt(
            base=_IGNORED_HELPER, writes=(("tests/helpers.py", "def check_total(*ignored):\n    pass\n"),), runs=((),)
        ),
        "tests/helpers.py a file that the tests use changed",
    ),
)

_GENERATES = """\
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
(HERE / "generated.py").write_text(f"AT = {time.time_ns()}\\n")
"""
_USES = f"""\
{TESTS}

def test_uses(tmp_path, monkeypatch):
    import dependency
    import generated
    import version

    assert version.VERSION and generated.AT and dependency
    made = Path("made")
    made.mkdir(exist_ok=True)
    (made / "passing.py").write_text("ONE = 1")
    monkeypatch.syspath_prepend(made)
    import passing

    (made / "passing.py").unlink()
    assert passing.ONE == total([1])
""".replace("import pytest\n", "from pathlib import Path\n\nimport pytest\n", 1)
_PACKAGES = ".venv/lib/python3/site-packages"

UNSEEN_TWINS: dict[str, Attempt] = {
    # What a build wrote stays, what the run writes changes, and so does an environment below the root.
    "ignored files that are built, generated, or installed": Attempt(
        base=Base(
            files=(
                ("pytest.ini", CONFIGURATION.replace("= .", f"= . {_PACKAGES}")),
                (TEST_FILE, _USES),
                ("tests/conftest.py", _GENERATES),
                ("version.py", "VERSION = '1'\n"),
                (".env", "A=1\n"),
                (".venv/pyvenv.cfg", ""),
                (f"{_PACKAGES}/dependency.py", "ONE = 1\n"),
                (".gitignore", ".venv/\n.env\nversion.py\nmade/\ngenerated.py\n"),
            ),
            commands=_REPOSITORY,
        ),
        runs=((),),
        then=Attempt(writes=((f"{_PACKAGES}/dependency.py", "ONE = 2\n"), (".env", "A=2\n")), runs=((),)),
    ),
    "an excluded source that nobody edits": Attempt(base=_EXCLUDED),
}
