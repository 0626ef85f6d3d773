"""Row 42: frozen content that is weakened, and then touched or written by the run as if it were an output."""

from __future__ import annotations

from tests.integrity.rows import CONFIGURATION, GOOD, SIGNAL, TEST_FILE, TESTS, Attempt, Base, Row
from tests.integrity.shared import cheat
from tests.integrity.wide import CASES, CONFTEST, EASY_HELPERS, WIDE

_CONFTEST, _HELPERS, _CASES = "tests/conftest.py", "tests/helpers.py", "tests/data/cases.json"
_EASY_CONFTEST = CONFTEST.replace("return 90", "from unittest.mock import ANY\n\n    return ANY")
_EASY_CASES = "[[10, 10], [300, 300]]\n"
#: Once: the file is weakened when the run begins, and a second run would say nothing else.
_ONCE: tuple[tuple[str, ...], ...] = ((),)


def _and_run(file: str, text: str, does: str) -> Attempt:
    """Weaken a file, and bring a new test, which may come, that does something to it."""
    test = (
        f"from pathlib import Path\n\nFILE = Path(__file__).parent.parent / {file!r}\n\n\ndef test_new():\n    {does}\n"
    )
    return Attempt(base=WIDE, writes=((file, text), ("tests/test_new.py", test)), runs=_ONCE)


_REWRITES_CASES = f"""\
from pathlib import Path

Path(__file__).with_name("tests").joinpath("data", "cases.json").write_text({_EASY_CASES!r})
"""

OUTPUTS: tuple[Row, ...] = (
    cheat(
        "a conftest is weakened, and touched by a test", _and_run(_CONFTEST, _EASY_CONFTEST, "FILE.touch()"), _CONFTEST
    ),
    cheat("helpers are weakened, and touched by a test", _and_run(_HELPERS, EASY_HELPERS, "FILE.touch()"), _HELPERS),
    cheat(
        "data is weakened, and written again by a test",
        _and_run(_CASES, _EASY_CASES, "FILE.write_text(FILE.read_text())"),
        _CASES,
    ),
    cheat(
        "data is weakened, and put back by a test", _and_run(_CASES, _EASY_CASES, f"FILE.write_text({CASES!r})"), _CASES
    ),
    cheat("data is weakened by the code", Attempt(base=WIDE, code=f"{_REWRITES_CASES}\n\n{GOOD}", runs=_ONCE), _CASES),
    cheat(
        "a text of examples is weakened, and put back by a test",
        Attempt(
            base=Base(
                files=(
                    ("pytest.ini", f"{CONFIGURATION}addopts = --doctest-glob=*.txt\n"),
                    (TEST_FILE, TESTS),
                    ("tests/how.txt", ">>> from price import total\n>>> total([])\n0\n"),
                )
            ),
            writes=(
                ("tests/how.txt", ">>> 0\n0\n"),
                (
                    "tests/test_new.py",
                    "from pathlib import Path\n\n\ndef test_new():\n"
                    "    Path(__file__).with_name('how.txt').write_text("
                    "'>>> from price import total\\n>>> total([])\\n0\\n')\n",
                ),
            ),
            runs=_ONCE,
        ),
        "a file of tests changed while the run went on",
    ),
)

#: Writes into its own folder in every run, before it asks for the code, so in RED, too: what is always the same, what
#: is always another thing, a cache and a database. `result.json` it writes only once the code is there.
_WRITES = """\
import sqlite3
import time
from pathlib import Path

HERE = Path(__file__).parent


def test_writes():
    (HERE / "golden.json").write_text("[6]")
    (HERE / "last.log").write_text(str(time.time_ns()))
    (HERE / ".cache").mkdir(exist_ok=True)
    (HERE / ".cache" / "seen").write_text(str(time.time_ns()))
    with sqlite3.connect(HERE / "test.db") as database:
        database.execute("create table if not exists t (at integer)")
        database.execute("insert into t values (?)", (time.time_ns(),))
    database.close()
    from price import total

    (HERE / "result.json").write_text(f"[{total([1])}, {time.time_ns()}]")
    assert total([1]) == 1
"""

OUTPUT_TWINS: dict[str, Attempt] = {
    "tests that write into their own folder, in RED too": Attempt(
        base=Base(
            files=(("pytest.ini", CONFIGURATION), ("tests/test_writes.py", _WRITES), ("tests/golden.json", "[6]"))
        )
    ),
    "a file from the cycle before that RED does not get to write": Attempt(
        base=Base(files=(("pytest.ini", CONFIGURATION), ("tests/test_writes.py", _WRITES))),
        after=(SIGNAL,),
        then=Attempt(
            phase="red",
            writes=(("tests/test_writes.py", _WRITES.replace("import total", "import total, vat")),),
            runs=((),),
            after=(SIGNAL,),
            then=Attempt(code=f"{GOOD}\n\ndef vat(amount):\n    return amount * 19 // 100\n"),
        ),
    ),
}
