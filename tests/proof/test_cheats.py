"""Rows 41 to 58 with proofs and without: which are refused by recognition, and which only by experiment."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from tests.proof.cheat import Cheat
from tests.proof.table import ALL_CHEATS, ALL_HONEST, ESSENTIAL_FIRST
from tests.support import OURS, Ran, Sample

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("with_proof")]


class Told:
    """A story on its way: the project, and the folder beside it."""

    def __init__(self, sample: Sample, story: Cheat) -> None:
        self.sample, self.story = sample, story
        self._beside = sample.root.parent / f"{sample.root.name}-outside"
        self._beside.mkdir()
        self._now = self._fill(story.green_environment)

    def _text(self, text: str) -> str:
        return text.replace("{outside}", str(self._beside)).replace("{python}", sys.executable)

    def _fill(self, given: Mapping[str, str]) -> dict[str, str]:
        return {name: self._text(text) for name, text in given.items()}

    def _lay(self, files: Mapping[str, str | None], *, outside: bool = False) -> None:
        for name, text in files.items():
            path = (self._beside if outside else self.sample.root) / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._text(text), encoding="utf-8")

    def _do(self, commands: tuple[tuple[str, ...], ...], environment: dict[str, str]) -> None:
        for command in commands:
            done = self.sample.process(*map(self._text, command), **environment)
            assert done.code == 0, done.out + done.err

    def _pytest(self, *words: str, **environment: str) -> Ran:
        if self.story.python:
            own = self._text(self.story.python)
            return self.sample.process(own, "-m", "pytest", *OURS, "-v", *words, **environment)
        return self.sample.pytest_process("-v", *words, plugins=(), **environment)

    def _exit_red(self, **environment: str) -> Ran:
        ran = self._pytest("--phase=red", "--exit-signal=red", *self.story.red_words, **environment)
        assert ran.code == 0, ran.out
        return ran

    def tell(self) -> Ran:
        """Have RED exit, do what came then, and return the last of two runs of GREEN."""
        story = self.story
        if story.earlier is not None:
            self._lay(story.earlier[0])
            self._exit_red()
            self._lay(story.earlier[1])
            self._pytest("--phase=green")
            assert self._pytest("--phase=green", "--exit-signal=done").code == 0
        if story.is_in_git:
            self.sample.git("init", "-q")
        self._lay(story.red)
        self._lay(story.outside_red, outside=True)
        if story.is_in_git:
            self.sample.commit_all()
        then = self._fill(story.red_environment)
        self._do(story.red_commands, then)
        red = self._exit_red(**then)
        self._lay(story.green)
        self._lay(story.outside_green, outside=True)
        self._do(story.green_commands, self._now)
        self._pytest("--phase=green", *story.green_words, **self._now)
        ran = self._pytest("--phase=green", *story.green_words, **self._now)
        return Ran(code=ran.code, out=red.out + ran.out, err=ran.err)

    def signal(self) -> Ran:
        return self.gate("signal", "--reason", "done", "--json")

    def gate(self, *words: str) -> Ran:
        """Run the command for the task that the story is about."""
        words = (*words, *(f"--task={each}" for each in self._tasks()))
        if self.story.python:
            return self.sample.process(self._text(self.story.python), "-m", "phase_gate.cli", *words, **self._now)
        return self.sample.gate(*words, **self._now)

    def _tasks(self) -> list[str]:
        option = "--phase-task="
        return [each.removeprefix(option) for each in self.story.green_words if each.startswith(option)]


def name(story: Cheat) -> str:
    return f"{story.row}: {story.name}"


@pytest.mark.sampled(len(ALL_CHEATS))
@pytest.mark.parametrize(
    "cheat",
    [pytest.param(cheat, id=name(cheat), marks=pytest.mark.cheats(cheat.row)) for cheat in ESSENTIAL_FIRST],
)
def test_refuses(sample: Sample, cheat: Cheat) -> None:
    told = Told(sample, cheat)
    ran = told.tell()
    if cheat.by == "recognition":
        assert ran.code != 0, ran.out
        ran.has(cheat.told_by)
        return
    assert ran.code == 0, f"a guard knows it by now:\n{ran.out}"
    signal = told.signal()
    verdict = signal.document
    if cheat.by == "advice":
        assert signal.code == 0, signal.out
        assert cheat.told_by in " ".join(ran.out.split())
        return
    if cheat.by == "named":
        assert (signal.code, verdict["can_exit"]) == (0, True), signal.out
        assert any(cheat.told_by in each["detail"] for each in verdict["findings"]), verdict["findings"]
        return
    assert (signal.code, verdict["can_exit"]) == (10, False), signal.out
    assert cheat.told_by in signal.out
    assert "targets-proven" in verdict["reason"]


BY_EXPERIMENT = [cheat for cheat in ALL_CHEATS if cheat.by == "experiment"]


@pytest.mark.sampled(len(BY_EXPERIMENT))
@pytest.mark.parametrize("cheat", BY_EXPERIMENT, ids=name)
def test_without_a_proof_it_opens(sample: Sample, cheat: Cheat) -> None:
    sample.write({"phase-gate.yaml": "proof: off\n"})
    told = Told(sample, cheat)
    ran = told.tell()
    assert ran.code == 0, ran.out
    assert told.signal().code == 0


@pytest.mark.sampled(20)
@pytest.mark.parametrize("honest", ALL_HONEST, ids=name)
def test_opens_for_the_honest_twin(sample: Sample, honest: Cheat) -> None:
    told = Told(sample, honest)
    ran = told.tell()
    assert ran.code == 0, ran.out
    assert "Warning" not in ran.out
    signal = told.signal()
    assert signal.code == 0, signal.out
    verdict = signal.document
    assert verdict["findings"] == []
    assert verdict["metrics"]["targets_disproven"] == 0
    assert verdict["metrics"]["targets_proven"] > 0


def test_every_row_has_an_honest_twin() -> None:
    assert {each.row for each in ALL_HONEST} == {each.row for each in ALL_CHEATS} == {*range(41, 59)}
