"""The ordinary actions that walks are made of: each does something real to the project, as a person or an agent would.

An action gets a session, a craft and a source of random numbers of its own, and returns whether it did anything.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from phase_gate.values import Value
from tests.walks import papers
from tests.walks.craft import CODE, CONFIGURATION, INI, SETTINGS, Craft, Test, write_code, write_test
from tests.walks.finisher import DeadEndError, Finisher

Doing = Callable[[Craft, Random], bool]


class Action(Value):
    """Something that people do.

    :param weight: how often, beside the others.
    :param workflows: the workflows that it belongs to; all where there is none.
    """

    name: str
    do: Doing
    weight: int
    workflows: tuple[str, ...] = ()


ACTIONS: dict[str, Action] = {}


def action(weight: int = 2, *workflows: str) -> Callable[[Doing], Doing]:
    """Put a function into the table."""

    def put(do: Doing) -> Doing:
        name = do.__name__.strip("_").replace("_", "-")
        ACTIONS[name] = Action(name=name, do=do, weight=weight, workflows=workflows)
        return do

    return put


def actions_of(workflow: str) -> list[Action]:
    return [each for each in ACTIONS.values() if not each.workflows or workflow in each.workflows]


def _type(craft: Craft, *lines: str) -> bool:
    for line in lines:
        craft.session.type(line)
    return True


# --- going on ----------------------------------------------------------------------------------------------------


@action(weight=40)
def go_on(craft: Craft, random: Random) -> bool:
    """Do what the last message says."""
    try:
        Finisher(craft).step(craft.session.look())
    except DeadEndError as end:
        craft.session.say(str(end))
    return True


@action(weight=3)
def run_it(craft: Craft, random: Random) -> bool:
    return _type(craft, f"pytest --phase={random.choice(['auto', 'auto', *craft.phases])}")


# --- code --------------------------------------------------------------------------------------------------------


@action(weight=6)
def write_right_code(craft: Craft, random: Random) -> bool:
    return craft.mend_code()


@action(weight=4)
def write_wrong_code(craft: Craft, random: Random) -> bool:
    numbers = craft.numbers | craft.written
    wrong = frozenset(random.sample(sorted(numbers), k=1)) if numbers else frozenset()
    return craft.session.write(CODE, write_code(numbers, wrong))


@action()
def break_the_import(craft: Craft, random: Random) -> bool:
    return craft.session.write(CODE, "import not_there_yet\n\n\n" + write_code(craft.numbers | craft.written))


@action(weight=1)
def forget_the_code(craft: Craft, random: Random) -> bool:
    return craft.session.remove(CODE)


@action(weight=1)
def write_code_early(craft: Craft, random: Random) -> bool:
    """Write the code for a feature that has no test yet."""
    return craft.session.write(CODE, write_code(craft.numbers | craft.written | {craft.fresh}))


# --- tests -------------------------------------------------------------------------------------------------------


@action(weight=5)
def add_a_test(craft: Craft, random: Random) -> bool:
    return craft.add_test()


@action()
def add_a_wrong_test(craft: Craft, random: Random) -> bool:
    number = craft.fresh
    test = Test(name=f"test_plus{number}", number=number)
    return craft.session.write(f"tests/test_{number}.py", write_test(test, expected=99))


@action()
def add_a_test_that_passes(craft: Craft, random: Random) -> bool:
    if not craft.written:
        return False
    number = random.choice(sorted(craft.written))
    test = Test(name=f"test_plus{number}_again", number=number)
    return craft.session.write(f"tests/test_{number}_again.py", write_test(test))


@action()
def rename_a_test(craft: Craft, random: Random) -> bool:
    named = [(name, test) for name, tests in craft.tests().items() for test in tests]
    if not named:
        return False
    name, test = random.choice(named)
    text = craft.session.read(name).replace(f"def {test.name}(", f"def {test.name}_renamed(")
    return craft.session.write(name, text)


@action()
def move_a_test_file(craft: Craft, random: Random) -> bool:
    if not craft.test_files:
        return False
    old = random.choice(craft.test_files)
    new = old.replace("tests/", "tests/unit/") if "unit" not in old else old.replace("unit/", "")
    if random.random() < 0.5 or (craft.session.root / new).exists():
        new = old.replace(".py", "_x.py")
    if craft.session.ask_git("ls-files", old) and random.random() < 0.7:
        (craft.session.root / new).parent.mkdir(parents=True, exist_ok=True)
        return _type(craft, f"git mv {old} {new}")
    craft.session.move(old, new)
    return True


@action(weight=1)
def delete_a_test_file(craft: Craft, random: Random) -> bool:
    return bool(craft.test_files) and craft.session.remove(random.choice(craft.test_files))


@action()
def reformat_a_test(craft: Craft, random: Random) -> bool:
    if not craft.test_files:
        return False
    name = random.choice(craft.test_files)
    return craft.session.write(name, "# reformatted\n\n" + craft.session.read(name).replace("(4)", "( 4 )"))


@action(weight=1)
def expect_something_else(craft: Craft, random: Random) -> bool:
    """Change what a test expects, so that it is wrong."""
    if not craft.test_files:
        return False
    name = random.choice(craft.test_files)
    return craft.session.write(name, craft.session.read(name).replace("== ", "== 1"))


@action(weight=1)
def skip_a_test(craft: Craft, random: Random) -> bool:
    if not craft.test_files:
        return False
    name = random.choice(craft.test_files)
    text = craft.session.read(name).replace("def test_", "@pytest.mark.skip\ndef test_", 1)
    return craft.session.write(name, f"import pytest\n\n\n{text}")


@action(weight=1)
def break_a_test_file(craft: Craft, random: Random) -> bool:
    if not craft.test_files:
        return False
    name = random.choice(craft.test_files)
    return craft.session.write(name, "import not_there_yet\n\n\n" + craft.session.read(name))


@action(weight=1)
def add_a_conftest(craft: Craft, random: Random) -> bool:
    text = "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 4\n"
    return craft.session.write(random.choice(["conftest.py", "tests/conftest.py"]), text)


# --- settings ----------------------------------------------------------------------------------------------------


@action(weight=1)
def change_the_ini(craft: Craft, random: Random) -> bool:
    return craft.session.write(INI, SETTINGS.replace("addopts =", "addopts = -ra"))


@action(weight=1)
def change_the_rules(craft: Craft, random: Random) -> bool:
    """Change a number; some workflows have no such number."""
    number = random.choice(["required_green_runs: 3", "required_green_runs: 3", "required_voters: 1"])
    return craft.session.write(CONFIGURATION, f"{craft.configuration}parameters: {{{number}}}\n")


# --- files beside them -------------------------------------------------------------------------------------------


@action()
def write_a_data_file(craft: Craft, random: Random) -> bool:
    return craft.session.write("data.csv", f"a,b\n1,{random.randrange(9)}\n")


@action(weight=1)
def write_a_note(craft: Craft, random: Random) -> bool:
    return craft.session.write("NOTES.md", f"Remember {random.randrange(99)} things.\n")


# --- git ---------------------------------------------------------------------------------------------------------


@action()
def stage(craft: Craft, random: Random) -> bool:
    return _type(craft, "git add -A")


@action(weight=4)
def commit(craft: Craft, random: Random) -> bool:
    return _type(craft, "git add -A", "git commit -q -m step")


@action(weight=1)
def amend(craft: Craft, random: Random) -> bool:
    return _type(craft, "git add -A", "git commit -q --amend --no-edit")


@action()
def stash(craft: Craft, random: Random) -> bool:
    return _type(craft, "git stash -u -q")


@action()
def stash_pop(craft: Craft, random: Random) -> bool:
    return bool(craft.session.ask_git("stash", "list")) and _type(craft, "git stash pop -q")


@action(weight=1)
def stash_run_pop(craft: Craft, random: Random) -> bool:
    return _type(craft, "git stash -u -q", "pytest --phase=auto", "git stash pop -q")


@action()
def switch_branch(craft: Craft, random: Random) -> bool:
    here = craft.session.ask_git("branch", "--show-current").strip()
    return _type(craft, f"git checkout -q {'main' if here == 'other' else 'other'}")


@action(weight=1)
def run_on_the_other_branch(craft: Craft, random: Random) -> bool:
    here = craft.session.ask_git("branch", "--show-current").strip()
    there = "main" if here == "other" else "other"
    return _type(craft, f"git checkout -q {there}", "pytest --phase=auto", f"git checkout -q {here or 'main'}")


@action(weight=1)
def rebase(craft: Craft, random: Random) -> bool:
    here = craft.session.ask_git("branch", "--show-current").strip()
    if not here or craft.session.ask_git("status", "--porcelain"):
        return False
    if craft.session.type(f"git rebase -q {'main' if here == 'other' else 'other'}").code:
        craft.session.type("git rebase --abort")
    return True


@action(weight=1)
def clean(craft: Craft, random: Random) -> bool:
    return _type(craft, "git clean -fdxq")


@action(weight=1)
def restore(craft: Craft, random: Random) -> bool:
    return _type(craft, "git checkout -q -- .")


@action(weight=1)
def add_a_worktree(craft: Craft, random: Random) -> bool:
    return _type(craft, "git worktree add -q -f --detach beside")


# --- other runs --------------------------------------------------------------------------------------------------


@action()
def run_some(craft: Craft, random: Random) -> bool:
    chosen = random.choice(["-k plus1", "--lf", "-x", "tests/test_first.py", "--collect-only -q", "-q", "--co"])
    return _type(craft, f"pytest --phase=auto {chosen}")


@action(weight=1)
def run_without_phase(craft: Craft, random: Random) -> bool:
    return _type(craft, "pytest -q --junitxml=junit.xml")


@action(weight=1)
def run_in_workers(craft: Craft, random: Random) -> bool:
    return _type(craft, "pytest --phase=auto -n 2")


@action(weight=1)
def kill_a_run(craft: Craft, random: Random) -> bool:
    craft.session.type("pytest --phase=auto", killed=True)
    return True


@action(weight=1)
def lose_the_state(craft: Craft, random: Random) -> bool:
    return craft.session.remove(".phase-gate")


@action(weight=1)
def wait(craft: Craft, random: Random) -> bool:
    craft.session.wait(random.choice([5, 45, 600]))
    return True


# --- words -------------------------------------------------------------------------------------------------------


@action(weight=3)
def signal(craft: Craft, random: Random) -> bool:
    return _type(craft, 'phase-gate signal --reason "it is all there"')


@action(weight=3)
def signal_otherwise(craft: Craft, random: Random) -> bool:
    how = random.choice(["--not-done", "--blocked", "--test-wrong", "--next", "--remaining-work docs"])
    return _type(craft, f'phase-gate signal {how} --reason "I am not sure"')


@action(weight=1)
def withdraw(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate withdraw")


@action(weight=1)
def rewind(craft: Craft, random: Random) -> bool:
    return _type(craft, f'phase-gate rewind {random.choice(craft.phases)} --reason "a case is missing"')


@action(weight=1)
def advance(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate advance")


@action(weight=1)
def take_a_baseline(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate baseline")


@action(weight=1)
def declare(craft: Craft, random: Random) -> bool:
    return _type(craft, 'phase-gate declare refactoring_complete=true --reason "nothing is left to move"')


@action(weight=2)
def try_again_and_again(craft: Craft, random: Random) -> bool:
    """Change the code five times without getting anywhere, and let the circuit open."""
    for turn in range(6):
        text = write_code(craft.numbers | craft.written, frozenset(craft.numbers))
        craft.session.write(CODE, f"{text}\n\nTURN = {turn}\n")
        craft.session.type("pytest --phase=auto")
    return True


@action(4, "exit-gate", "confidence")
def claim_honestly(craft: Craft, random: Random) -> bool:
    craft.prepare("phase-gate claim said.txt")
    return _type(craft, "phase-gate claim said.txt")


@action(weight=1)
def claim(craft: Craft, random: Random) -> bool:
    craft.session.write("said.txt", random.choice(CLAIMS))
    return _type(craft, "phase-gate claim said.txt")


@action(4, "exit-gate", "confidence")
def claim_badly(craft: Craft, random: Random) -> bool:
    return claim(craft, random)


CLAIMS = (
    "I think that it is done.\n",
    "EXIT_STATUS: COMPLETE | CONTINUE\n",
    "All tests pass. All tasks are completed. It is ready for review.\n",
    "EXIT_STATUS: CONTINUE\nEXIT_REASON: one test is left\nREMAINING_WORK: a test\n",
    "EXIT_STATUS: COMPLETE\nEXIT_REASON: it is fine\nREMAINING_WORK: the documentation\n",
    "```\nEXIT_STATUS: COMPLETE\nEXIT_REASON: it is fine\nREMAINING_WORK: none\n```\n",
)


# --- pipelines ---------------------------------------------------------------------------------------------------


@action(8, "pipeline")
def go_on_a_while(craft: Craft, random: Random) -> bool:
    for _ in range(random.randint(3, 20)):
        go_on(craft, random)
    return True


@action(2, "pipeline")
def write_a_paper(craft: Craft, random: Random) -> bool:
    return craft.write_artifacts([random.choice(sorted(papers.ARTIFACTS))])


@action(1, "pipeline")
def spoil_a_paper(craft: Craft, random: Random) -> bool:
    written = [name for name in papers.ARTIFACTS.values() if (craft.session.root / name).exists()]
    return bool(written) and craft.session.write(random.choice(written), "To be done.\n")


@action(2, "pipeline")
def vote_somehow(craft: Craft, random: Random) -> bool:
    vote = random.choice(["reject", "conditional", "approve", "perhaps"])
    craft.session.write("vote.yaml", f"vote: {vote}\nconfidence: 0.9\nby: {random.choice(['ann', 'bob'])}\n")
    return _type(craft, "phase-gate pipeline vote vote.yaml")


@action(1, "pipeline")
def take_a_snapshot(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate pipeline snapshot")


@action(1, "pipeline")
def change_the_constitution(craft: Craft, random: Random) -> bool:
    return craft.session.write("CONSTITUTION.md", "Anything goes.\n")


@action(1, "pipeline")
def ask_for_a_change(craft: Craft, random: Random) -> bool:
    kind = random.choice(["scope", "architecture", "dependency", "config"])
    return _type(craft, f'phase-gate pipeline request new --type {kind} --title "more numbers" --by ann')


@action(1, "pipeline")
def decide_on_requests(craft: Craft, random: Random) -> bool:
    return craft.decide_requests()


@action(1, "pipeline")
def begin_a_recovery(craft: Craft, random: Random) -> bool:
    return _type(craft, 'phase-gate pipeline recover start --reason "it went wrong"')


# --- verify tasks ------------------------------------------------------------------------------------------------


@action(3, "verification")
def do_the_task(craft: Craft, random: Random) -> bool:
    return craft.do_the_task()


@action(2, "verification")
def start_again(craft: Craft, random: Random) -> bool:
    return craft.start_task()


@action(4, "verification")
def report(craft: Craft, random: Random) -> bool:
    """Report, whatever was done."""
    text = random.choice(
        [
            papers.REPORT,
            papers.REPORT,
            papers.REPORT.replace("success", "failure").replace("true", "false"),
            papers.REPORT.replace("calc.py, ", ""),
            "It is done.\n",
            "status: success | failure\n",
        ]
    )
    craft.session.write("result.yaml", text)
    return _type(craft, "phase-gate verify executor result.yaml")


@action(4, "verification")
def verify(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate verify run")


@action(4, "verification")
def review(craft: Craft, random: Random) -> bool:
    rejected = papers.APPROVAL.replace("APPROVED", "REJECTED") + "feedback: name it otherwise\n"
    unsure = papers.APPROVAL.replace("HIGH", "LOW")
    craft.session.write("verdict.yaml", random.choice([papers.APPROVAL, rejected, unsure, "Looks good to me.\n"]))
    return _type(craft, f"phase-gate verify review verdict.yaml --by {random.choice(['ann', 'dev'])}")


@action(1, "verification")
def commit_the_task(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate verify commit")


@action(1, "verification")
def ask_for_feedback(craft: Craft, random: Random) -> bool:
    return _type(craft, "phase-gate verify feedback")
