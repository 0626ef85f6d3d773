"""`phase-gate behaviour` as users call it: what it compares with, what it records, and that it does no harm."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.cli import main
from tests.storage.repositories import git
from tests.support import Sample

pytestmark = pytest.mark.processes

KEEPS = "proof: off\nevidence:\n  behaviour: true\n"
TEST = "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
RIGHT = "def double(n: int) -> int:\n    return n * 2\n"
WRONG = "def double(n: int) -> int:\n    return n * 2 if n < 50 else n\n"
HONEST = "def double(n: int) -> int:\n    return n + n\n"


def go_green(sample: Sample, configuration: str) -> Sample:
    sample.write({"phase-gate.yaml": configuration}, test_calc=TEST)
    assert sample.pytest("--phase=red", "--exit-signal=it fails").code == 0
    sample.write(calc=RIGHT)
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=done").code == 0
    return sample


def test_a_difference_since_green_is_shown_recorded_and_forgotten_with_the_files(sample: Sample) -> None:
    go_green(sample, KEEPS).write(calc=WRONG)
    ran = sample.gate("behaviour")
    assert ran.code == 10
    assert ran.has("gives another value: double(50)", "before: 100", "now:    50", "assert double(50) == 100")
    assert ran.has("1 difference in 1 function since the exit of GREEN")
    assert sample.pytest("--phase=refactor").has("other answers to fresh inputs: double (see phase-gate behaviour)")
    metrics = sample.status()["evaluation"]["metrics"]
    assert (metrics["behaviour_functions"], metrics["behaviour_diffs"]) == (1, 1)
    sample.write(calc=HONEST)
    sample.pytest("--phase=refactor")
    assert "behaviour_diffs" not in sample.status()["evaluation"]["metrics"]
    ran = sample.gate("behaviour", "--json")
    assert (ran.code, [each["difference"] for each in ran.document["functions"]]) == (0, [None])


def test_where_nothing_was_kept_it_says_what_to_do(sample: Sample) -> None:
    ran = go_green(sample, "proof: off\n").gate("behaviour")
    assert ran.code == 13
    assert "nothing was kept when GREEN exited: proof is off [not-allowed]" in ran.err
    assert "phase-gate behaviour --base HEAD" in ran.err


@pytest.mark.usefixtures("with_proof")
def test_a_proof_has_kept_the_files(sample: Sample) -> None:
    go_green(sample, "workflow: tdd\n").write(calc=HONEST)
    ran = sample.gate("behaviour")
    assert (ran.code, ran.has("no difference in 1 function since the exit of GREEN")) == (0, True)


def test_without_phases_it_compares_with_a_revision(sample: Sample) -> None:
    package = "src/shop"
    sample.write(
        {
            f"{package}/__init__.py": "",
            f"{package}/rates.py": "def rate(n: int) -> int:\n    return n\n",
            f"{package}/price.py": "from shop.rates import rate\n\n\n"
            "def price(n: int) -> int:\n    return rate(n)\n\n\n"
            "def _secret(n: int) -> int:\n    return n\n\n\ndef bare(n):\n    return n\n",
            f"{package}/old.py": "def moved(n: int) -> int:\n    return n\n",
        }
    )
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(sample.root, *words)
    sample.write(
        {
            f"{package}/rates.py": "def rate(n: int) -> int:\n    return abs(n)\n",
            f"{package}/price.py": "from .rates import rate\n\n\ndef price(n: int) -> int:\n    return rate(n)\n\n\n"
            "def _secret(n: int) -> int:\n    return -n\n\n\ndef bare(n):\n    return 0 + n\n",
            f"{package}/new.py": "def moved(n: int) -> int:\n    return n + 0\n",
        }
    )
    sample.remove(f"{package}/old.py")
    ran = sample.gate("behaviour", "--base", "HEAD", "--json")
    assert ran.code == 10
    found = {
        each["name"]: (each["difference"] or {}).get("call") or each["left_out"] for each in ran.document["functions"]
    }
    # `price` is as it was, and leads to code that is not.
    assert found == {"rate": "rate(-1)", "price": "price(-1)", "moved": "", "bare": "n has no type hint"}
    named = sample.gate("behaviour", "--base", "HEAD", "shop.price:_secret", "--json")
    assert [each["difference"]["call"] for each in named.document["functions"]] == ["_secret(1)"]
    unknown = sample.gate("behaviour", "--base", "HEAD", "nothing")
    assert (unknown.code, "no function nothing was there before" in unknown.err) == (13, True)


def test_an_oracle_finds_hard_coded_answers(sample: Sample) -> None:
    oracle = "behaviour:\n  oracle:\n    calc:double: tests.oracles:slow_double\n"
    sample.write(
        {
            "phase-gate.yaml": oracle,
            "tests/oracles.py": "def slow_double(n: int) -> int:\n    print('slowly')\n    return n + n\n",
        },
        calc="def double(n: int) -> int:\n    return {2: 4, 3: 6}.get(n, 0)\n",
    )
    ran = sample.gate("behaviour")
    assert ran.code == 10
    assert ran.has("calc.py:1 double (oracle: tests.oracles:slow_double)", "double(1)", "oracle: 2", "now:    0")
    sample.write(calc=RIGHT)
    assert sample.gate("behaviour").has("no difference in 1 function")
    sample.write(calc="")
    assert sample.gate("behaviour").has("not compared: now: double is not there once its module is imported")


def test_nothing_of_the_users_is_touched(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> None:
    precious = tmp_path_factory.mktemp("precious")
    (precious / "file").write_text("kept")
    code = (
        "import os, pathlib, shutil, socket\n\nPLACE = {place!r}\n\n\n"
        "def wipe(name: str) -> None:\n    shutil.rmtree(PLACE, {number} == 3)\n\n\n"
        "def unlink(name: str) -> None:\n    os.{unlink}(PLACE + '/file')\n\n\n"
        "def write(name: str) -> None:\n    pathlib.Path(PLACE, 'file').write_text(name * {number})\n\n\n"
        "def quiet(name: str) -> int:\n    try:\n        os.rename(PLACE, PLACE + '2')\n"
        "    except BaseException:\n        pass\n    return {number}\n\n\n"
        "def call(name: str) -> None:\n    socket.create_connection(('127.0.0.1', {number}))\n"
    )
    sample.write(calc=code.format(place=str(precious), number=1, unlink="unlink"))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(sample.root, *words)
    sample.write(calc=code.format(place=str(precious), number=2, unlink="remove"))
    before = sorted(os.listdir(sample.root))
    ran = sample.gate("behaviour", "--base", "HEAD", "--json")
    assert {each["name"]: each["left_out"].partition(":")[0] for each in ran.document["functions"]} == {
        "wipe": "it writes files",
        "unlink": "it writes files",
        "write": "it writes files",
        "quiet": "it writes files",
        "call": "it uses the network",
    }
    assert (precious / "file").read_text() == "kept"
    assert sorted(os.listdir(sample.root)) == before


def test_a_killed_command_leaves_nothing_behind(sample: Sample, tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = "import os, time\n\nopen({told!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep({seconds})\n\n\n{rest}"
    sample.write(calc=code.format(told=str(told), seconds=600, rest=RIGHT))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(sample.root, *words)
    sample.write(calc=code.format(told=str(told), seconds=601, rest=HONEST))
    command = subprocess.Popen(
        [sys.executable, "-m", "phase_gate.cli", "behaviour", "--base", "HEAD"],
        cwd=sample.root,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        _wait(lambda: told.exists() and told.read_text().endswith("\n"))
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    (number,) = map(int, told.read_text().split())
    _wait(lambda: not _is_alive(number))
    sample.write(calc=RIGHT)
    git(sample.root, "commit", "-qam", "two")
    sample.write(calc=HONEST)
    assert sample.gate("behaviour", "--base", "HEAD", TMPDIR=str(tmp_path)).code == 0
    assert not list(tmp_path.glob("phase-gate-room-*"))


def _wait(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.02)


def _is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_without_the_extra_it_says_what_to_install(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "hypothesis" else find(name, *more)
    )
    assert main(["behaviour"]) == 2
    assert "try: pip install 'pytest-phase-gate[behaviour]'" in capsys.readouterr().err
