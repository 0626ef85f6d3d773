"""Which bytecode is believed: what its source gives, what this run made, and what was compared before."""

from __future__ import annotations

import importlib.util
import marshal
import os
import time
from pathlib import Path

import pytest

from phase_gate.recording.tamper.bytecode import BytecodeWitness

SOURCE = "LIMIT = 1e400 - 1e400\n\n\ndef f(x):\n    return x in {'a', 'b'} and 'yes' or (1, 'two')\n"
OTHER = SOURCE.replace("yes", "no")
FLAGS = {"time": 0, "unchecked": 1, "checked": 3}


class Cache:
    """A source, and its bytecode as Python keeps it."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, root / "code.py"
        self.file = Path(importlib.util.cache_from_source(str(self.source)))
        self.file.parent.mkdir()
        self.source.write_text(SOURCE)
        os.utime(self.source, (1000, 1000))

    def write(self, text: str, by: str = "time", *, header: bytes = b"") -> None:
        source = self.source.read_bytes()
        told_by = int(self.source.stat().st_mtime).to_bytes(4, "little") + len(source).to_bytes(4, "little")
        if by != "time":
            told_by = importlib.util.source_hash(source)
        made = importlib.util.MAGIC_NUMBER + FLAGS[by].to_bytes(4, "little") + told_by
        code = compile(text, str(self.source), "exec", dont_inherit=True)
        self.file.write_bytes((header or made) + marshal.dumps(code))

    def findings(self, config: pytest.Config, *, began: float | None = None, **more: object) -> list[str]:
        began = time.time() + 10 if began is None else began
        witness = BytecodeWitness(config, self.root, began=began, memory=self.root / "memory.json")
        found = witness.look(["code.py"], trusts_but=more.get("trusts_but"))  # type: ignore[arg-type]
        slugs = [finding.slug for finding in found]
        witness.save(self.root)
        return slugs


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


@pytest.mark.parametrize("by", FLAGS)
@pytest.mark.parametrize(("text", "found"), [(SOURCE, []), (OTHER, ["bytecode-differs"])])
def test_compared_with_its_source(
    cache: Cache, pytestconfig: pytest.Config, by: str, text: str, found: list[str]
) -> None:
    cache.write(text, by)
    assert cache.findings(pytestconfig) == found


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"\0" * 16, id="another-python"),
        pytest.param(importlib.util.MAGIC_NUMBER + b"\0" * 12, id="out-of-date-by-time"),
        pytest.param(importlib.util.MAGIC_NUMBER + b"\3\0\0\0" + b"\0" * 8, id="out-of-date-by-hash"),
        pytest.param(b"short", id="too-short"),
    ],
)
def test_what_python_does_not_believe_does_not_matter(cache: Cache, pytestconfig: pytest.Config, header: bytes) -> None:
    cache.write(OTHER, header=header)
    assert cache.findings(pytestconfig) == []


def test_what_this_run_made_is_fresh(cache: Cache, pytestconfig: pytest.Config) -> None:
    cache.write(OTHER)
    assert cache.findings(pytestconfig, began=0) == []


def test_a_first_run_compares_only_the_tests_that_it_is_about(cache: Cache, pytestconfig: pytest.Config) -> None:
    cache.write(OTHER)
    assert cache.findings(pytestconfig, trusts_but=set()) == []
    (cache.root / "memory.json").unlink()
    assert cache.findings(pytestconfig, trusts_but={"code.py"}) == ["bytecode-differs"]


def test_compared_again_once_the_source_is_another(
    cache: Cache, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write(SOURCE)
    # As if it had been compared long after it was written.
    monkeypatch.setattr("phase_gate.storage.tree.stat_cache._now_ns", lambda: time.time_ns() + 10**10)
    assert cache.findings(pytestconfig) == []
    monkeypatch.setattr(BytecodeWitness, "_is_what_it_says", lambda *_: pytest.fail("it is remembered"))
    assert cache.findings(pytestconfig) == []
    monkeypatch.undo()
    cache.source.write_text(OTHER.replace("no'", "no' "))  # of the same size
    os.utime(cache.source, (1000, 1000))
    assert cache.findings(pytestconfig) == ["bytecode-differs"]


def test_without_bytecode_there_is_nothing_to_believe(cache: Cache, pytestconfig: pytest.Config) -> None:
    assert cache.findings(pytestconfig) == []
    cache.file.parent.rmdir()
    assert cache.findings(pytestconfig) == []
