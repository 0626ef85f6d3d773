"""The verify linter: commands that prove nothing, and their honest twins."""

from __future__ import annotations

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.tasks.task_files import lint_command, lint_done

PROVE_NOTHING = [
    *("echo done", "printf ok", "true", ":", "/bin/true", "sleep 5", "cat src/a.ts", "ls -la src", "git status"),
    *("touch done", "cd src", "A=1", "A=1 echo x", "set -e", "echo a && echo b", "true && cat x"),
]
RUN_NO_TEST = ["pytest --co tests/a.py", "python -m pytest --collect-only", "jest --listTests", "cargo test --no-run"]
TOO_BROAD = [
    *("pytest", "pytest -q", "python -m pytest", "uv run pytest", "pytest .", "pytest tests/", "python -m unittest"),
    *("npm test", "npm run test", "make test", "tox", "npx vitest run", "go test ./...", "cargo test"),
    *("./gradlew test", "bundle exec rspec", "cd app && npm test", "CI=1 npm test"),
]
#: Whether a failure gets lost in them or not: nobody has to find out.
NEED_A_SCRIPT = [
    *("exit 0", "eval true", "sh -c true", "bash -lc 'pytest tests/a.py'", "pytest tests/a.py # || true", "(exit 0)"),
    *("echo $(pytest tests/a.py)", "echo a; echo b", "cat a | wc -l", "echo x > done.txt", "[[ a == a ]]"),
    *("if true; then echo ok; fi", "pytest tests/a.py || true", "pytest tests/a.py\nexit 0", "pytest a &"),
    *("npm test -- x & echo started", "pytest tests/a.py 2>&1 | tee log", 'test "$(wc -l < a)" -gt 3', "x=$(./check)"),
]
HONEST = [
    *("npm test -- PlannerId", 'grep -c "export class Foo" src/Foo.ts', "tsc --noEmit && npm test -- a"),
    *("pytest tests/x.py -k foo", "pytest -k planner", "python -m pytest tests/x.py -q", "env A=1 pytest tests/x.py"),
    *("! grep -q TODO src/a.py", "test -f src/a.py", "[ -f src/a.py ]", "make lint", "mypy src", "go test ./planner"),
    *("./check.sh", "sh check.sh", "python -c 'import a; assert a.b() == 1'", "$CHECK", "git diff --exit-code"),
    *("cd app && npm test -- planner", "pytest tests/a.py && echo ok", "grep -q '|| true' a", 'grep -q "; a" b'),
    *("A=1 pytest tests/a.py", "! grep -q TODO a", "grep -q '&&' a", "pytest 'tests/a b.py'", r"grep \; a"),
]


UNREADABLE = ["pytest 'a", 'pytest "a', "pytest &&", "&& a", "a && && b", ""]


@pytest.mark.parametrize(
    ("verify", "slug"),
    [
        *((each, "proves-nothing") for each in PROVE_NOTHING),
        *((each, "needs-script") for each in NEED_A_SCRIPT),
        *((each, "runs-no-test") for each in RUN_NO_TEST),
        *((each, "not-readable") for each in UNREADABLE),
    ],
)
def test_what_can_t_fail_is_refused(verify: str, slug: str) -> None:
    with pytest.raises(NotAllowedError, match=rf"\({slug}\)") as refused:
        lint_command(verify)
    assert refused.value.remedy


@pytest.mark.parametrize("verify", TOO_BROAD)
def test_what_runs_everything_is_flagged(verify: str) -> None:
    assert lint_command(verify) == f"`{verify}` runs all tests: name those of this task (too-broad)"


@pytest.mark.parametrize("verify", HONEST)
def test_honest_commands_are_left_alone(verify: str) -> None:
    assert lint_command(verify) == ""


def test_the_messages_name_what_to_do() -> None:
    with pytest.raises(NotAllowedError, match="is more than one command or an && list, and a failure") as refused:
        lint_command("pytest tests/a.py || true")
    assert "sh check.sh" in refused.value.remedy
    with pytest.raises(NotAllowedError, match="the verify command chooses a phase"):
        lint_command("pytest tests/a.py --phase=green")


VAGUE = [
    *("Task complete", "It works", "Done", "done.", "Everything works as expected", "All good", "Feature implemented"),
    *("The implementation is complete and correct", "All tests pass", "Tests pass", "It is finished", "Works fine!"),
    *("It works on my machine", "Looks good to me", "Bug fixed", "All requirements are met", "Code is clean and ready"),
]
CLEAR = [
    "PlannerId class exists with id, createdAt, version properties; all 5 tests pass",
    *("all 5 tests pass", "`make` passes", "planner.py exports parse", "Users can log in", "Login answers with 401"),
    *("README explains the install", "parse() rejects null", "no import of requests is left in src", "100 % covered"),
    *("Anmeldung funktioniert mit leerem Passwort nicht", "docs/index.md links the page", "Lint reports zero warnings"),
]


@pytest.mark.parametrize("done", VAGUE)
def test_vague_done_criteria_are_flagged(done: str) -> None:
    assert "can't be checked" in lint_done(done)


@pytest.mark.parametrize("done", CLEAR)
def test_clear_ones_are_left_alone(done: str) -> None:
    assert lint_done(done) == ""
