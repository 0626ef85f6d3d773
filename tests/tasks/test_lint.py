"""The verify linter: commands that prove nothing, and their honest twins."""

from __future__ import annotations

import pytest

from phase_gate.tasks.lint import RULES, lint_command, lint_done
from phase_gate.tasks.model import TaskSpec


def task(verify: str = "pytest tests/a.py", *, shell: bool = True, done: str = "5 tests pass") -> TaskSpec:
    return TaskSpec(name="Task 1", files=(), action="do", verify=verify, done=done, shell=shell)


def slugs(verify: str, *, shell: bool = True) -> list[str]:
    return [each.slug for each in lint_command(task(verify, shell=shell))]


PROVE_NOTHING = [
    *("echo done", 'echo "5 passed"', "printf ok", "true", ":", "/bin/true", "sleep 5", "pwd", "date"),
    *("cat src/a.ts", "ls", "ls -la src", "head -5 a", "tail -f log", "wc -l a.py", "tree", "sed -n 1p a"),
    *("git status", "git log -1", "git add .", "touch done", "mkdir -p out", "cd src", "cp a b", "rm -rf build"),
    *("export A=1", "A=1", "A=1 echo x", "set -e", "echo a && echo b", "true && cat x"),
]
RUN_NO_TEST = [
    *("pytest --collect-only", "pytest --co tests/a.py", "pytest tests/a.py --co -q"),
    *("python -m pytest --collect-only", "npx jest --listTests", "cargo test --no-run", "dotnet test --list-tests"),
]
TOO_BROAD = [
    *("pytest", "pytest -q", "pytest -x -v", "python -m pytest", "uv run pytest", "pytest .", "pytest tests"),
    *("pytest tests/", "pytest ./tests", "python -m unittest", "python -m unittest discover", "npm test", "npm t"),
    *("npm run test", "yarn test", "make test", "make check", "tox", "nox", "npx jest", "npx vitest run", "mocha"),
    *("go test ./...", "cargo test", "dotnet test", "mvn test", "./gradlew test", "bundle exec rspec"),
    *("vendor/bin/phpunit", "ctest", "mix test", "cd app && npm test", "CI=1 npm test"),
]
#: Whether a failure gets lost in them or not: nobody has to find out.
NEED_A_SCRIPT = [
    *("exit 0", "eval true", "sh -c true", "bash -lc 'pytest tests/a.py'", "pytest tests/a.py # || true"),
    *("(exit 0)", "{ true; }", "echo $(pytest tests/a.py)", "echo a; echo b", "cat a | wc -l", "ls | head"),
    *("echo x > done.txt", "[[ a == a ]]", "if true; then echo ok; fi", "for i in 1 2; do echo $i; done"),
    *("pytest tests/a.py || true", "pytest || :", "npm test || exit 0", "npm test || echo failed"),
    *("a || cat log", "pytest tests/a.py && echo ok || echo no", "(pytest tests/a.py) || true"),
    *("pytest a.py || (echo no; true)", "pytest tests/a.py; exit 0", "pytest tests/a.py\nexit 0"),
    *("bash -c 'pytest tests/a.py || true'", "trap 'exit 0' EXIT; pytest tests/a.py"),
    *("uv run pytest a || true", "pytest tests/a.py | tail", "pytest tests/a.py 2>&1 | tee log.txt"),
    *("npm test -- a | cat", "a | head -5", "pytest tests/a.py; echo done", "pytest tests/a.py; true"),
    *("pytest tests/a.py\necho done", "a; git status", "pytest tests/a.py &", "pytest tests/a.py & wait"),
    *("npm test -- x & echo started", "pytest tests/a.py |& tail -3"),
    *("if pytest tests/a.py; then echo ok; fi", "if pytest a.py; then echo ok; else echo no; fi"),
    *("bash -c 'pytest tests/a.py | tail'", "(pytest tests/a.py; echo done)"),
    *("set +e; pytest tests/a.py; echo $?", "set -e; pytest", "[[ -d src ]]", 'test "$(wc -l < a)" -gt 3'),
    *("curl -fsS localhost/health | grep -q ok", "cat a | grep -q b", "ls | grep -q a.py"),
    *("echo x | ./parse", "pytest tests/a.py || exit 1", "pytest tests/a.py || (cat log; exit 1)"),
    *("pytest a.py || { echo no; false; }", "pytest tests/a.py; exit $?"),
    *("pytest tests/a.py; rc=$?; cat log; exit $rc", "test -f a || test -f b"),
    *("set -o pipefail; pytest tests/a.py | tail", "set -euo pipefail; pytest tests/a.py 2>&1 | tee log"),
    *("set -e; pytest tests/a.py; echo done", "echo start; pytest tests/a.py", "x=$(./check)"),
    *("if pytest tests/a.py; then echo ok; else exit 1; fi", "if grep -q TODO a; then exit 1; fi"),
    *("bash -eo pipefail -c 'pytest tests/a.py | tail'", "trap 'exit 0' EXIT && pytest tests/a.py"),
    *("case $x in a) b;; esac", "for f in a b; do test -f $f || exit 1; done"),
    *("while read f; do grep -q x $f; done < list", "pytest tests/a.py > log.txt 2>&1"),
    *("find . -name '*.py' | xargs ruff check", "cat <<EOF | ./check\nx\nEOF", "f() { ./check; }; f"),
]
HONEST = [
    *("npm test -- PlannerId", 'grep -c "export class Foo" src/Foo.ts', "tsc --noEmit && npm test"),
    *("tsc --noEmit", "pytest tests/x.py -k foo", "pytest tests/x.py", "pytest -k planner", "pytest -m slow"),
    *("pytest tests/x.py::test_a", "python -m pytest tests/x.py -q", "env A=1 pytest tests/x.py"),
    *("grep -q export src/a.ts", "! grep -q TODO src/a.py", "test -f src/a.py", "[ -f src/a.py ]"),
    *("npm run build", "make", "make lint", "mypy src", "ruff format --check .", "cargo test planner"),
    *("go test ./planner", "dotnet test --filter Planner", "npx vitest run planner", "tox -e lint"),
    *("./check.sh", "sh check.sh", "python check.py", "python -c 'import a; assert a.b() == 1'", "$CHECK"),
    *("diff a b", "git diff --exit-code", "git ls-files --error-unmatch a", "cd app && npm test -- planner"),
    *("pytest tests/a.py && echo ok", "grep -q '|| true' a", 'grep -q "; echo done" a'),
]


@pytest.mark.parametrize(
    ("verify", "slug"),
    [
        *((each, "proves-nothing") for each in PROVE_NOTHING),
        *((each, "needs-script") for each in NEED_A_SCRIPT),
        *((each, "runs-no-test") for each in RUN_NO_TEST),
    ],
)
def test_what_can_t_fail_is_refused(verify: str, slug: str) -> None:
    assert slugs(verify)[:1] == [slug]
    assert lint_command(task(verify))[0].kind == "refused"


@pytest.mark.parametrize("verify", TOO_BROAD)
def test_what_runs_everything_is_flagged(verify: str) -> None:
    found = lint_command(task(verify))
    assert [(each.kind, each.slug) for each in found] == [("flagged", "too-broad")]


@pytest.mark.parametrize("verify", HONEST)
def test_honest_commands_are_left_alone(verify: str) -> None:
    assert lint_command(task(verify)) == ()


@pytest.mark.parametrize(
    "verify",
    ["A=1 pytest tests/a.py", "! grep -q TODO a", "cd web && npm test", "pytest a.py && CI=1 npm test"],
)
def test_signs_for_a_shell_need_one(verify: str) -> None:
    assert "needs-shell" in slugs(verify, shell=False)
    assert "needs-shell" not in slugs(verify)


@pytest.mark.parametrize("verify", ["pytest tests/a.py | tail", "a; b", "a > b", "a &", "(a)", "test `cat a` = b"])
def test_what_belongs_into_a_script_does_so_without_a_shell(verify: str) -> None:
    assert slugs(verify, shell=False) == ["needs-script"]


@pytest.mark.parametrize("verify", ["grep -q '&&' a", 'grep -q "a | b" c', "pytest 'tests/a b.py'", r"grep \; a"])
def test_signs_in_quotes_need_none(verify: str) -> None:
    assert slugs(verify, shell=False) == []


def test_what_is_wrong_is_said_beside_it() -> None:
    assert slugs("cd src && ls", shell=False) == ["needs-shell", "proves-nothing"]


@pytest.mark.parametrize(
    "verify",
    [
        *("pytest 'a", 'pytest "a', "pytest &&", "&& a", "a && && b", ""),
        "x" * 10_001,
    ],
)
def test_what_no_shell_reads_is_refused(verify: str) -> None:
    found = lint_command(task(verify))
    assert [(each.kind, each.slug) for each in found] == [("refused", "not-readable")]


def test_the_messages_name_what_to_do() -> None:
    assert [each.text for each in lint_command(task("pytest tests/a.py || true"))] == [
        "'||' is more than one command or an && list, and a failure could get lost in it"
    ]
    assert [each.text for each in lint_command(task("echo done"))] == [
        "`echo done` ends with 0 whatever the code does: name a test to run"
    ]
    (opinion,) = lint_command(task("cd web && npm test -- a", shell=False))
    assert opinion.text == "'cd' is for a shell, and none runs it"
    for way in ("sh check.sh", "shell: true", '<verify shell="true">'):
        assert way in opinion.remedy
    (opinion,) = lint_command(task("pytest tests/a.py | tail", shell=False))
    assert "sh check.sh" in opinion.remedy
    assert "shell: true" not in opinion.remedy, "that would be refused as well"


def test_an_and_list_needs_no_shell() -> None:
    assert lint_command(task("tsc --noEmit && npm test -- planner", shell=False)) == ()
    assert slugs("ls && echo done", shell=False) == ["proves-nothing"]


@pytest.mark.parametrize(("slug", "example"), [(slug, each) for slug, rule in RULES.items() for each in rule.examples])
def test_the_examples_of_the_reference_are_true(slug: str, example: str) -> None:
    if slug == "vague-done":
        found = lint_done(task(done=example))
    else:
        found = lint_command(task(example, shell=slug != "needs-shell"))
    assert (slug, RULES[slug].kind) in [(each.slug, each.kind) for each in found]


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
    assert [(each.kind, each.slug) for each in lint_done(task(done=done))] == [("flagged", "vague-done")]


@pytest.mark.parametrize("done", CLEAR)
def test_clear_ones_are_left_alone(done: str) -> None:
    assert lint_done(task(done=done)) == ()
