"""Find problems of a verify command from its text, and split it into the steps to run.

Pure. A verify command is one command, or an `&&` list whose steps run one after the other, without a shell. Everything
else belongs in a script that a reviewer can read.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import dropwhile
from pathlib import PurePath

from phase_gate.tasks.work import TaskSpec
from phase_gate.values import Value
from phase_gate.visible import cut

#: Characters: a longer command belongs in a script.
MAX_LENGTH = 10_000


#: Problems that are only flagged. All others make the task invalid.
FLAGGED = frozenset({"too-broad", "vague-done"})


class Opinion(Value, kw_only=False):
    """A problem of a task's description."""

    slug: str
    text: str
    #: What to do, if the text does not make it clear.
    remedy: str = ""

    @property
    def is_refused(self) -> bool:
        return self.slug not in FLAGGED


# --- reading


#: Quoted text, in which signs have no special meaning.
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
#: Signs that can hide a failure: pipes, lists, redirections, brackets, comments, substitutions.
_SIGN = re.compile(r"\|\|?|[;&<>()`\n]|\$\(|(?<!\S)#")
#: Words that begin something other than a command, or that change the meaning of the rest.
_KEYWORD_TEXT = "{ [[ case eval exec exit for function if return select trap until while"
_KEYWORDS = frozenset(_KEYWORD_TEXT.split())
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SCRIPT = "put it into a script that the task's reviewer can read, and run that: sh check.sh"


class CommandTextError(Exception):
    """Why a text is not a command or `&&` list that can be run."""

    def __init__(self, opinion: Opinion) -> None:
        super().__init__(opinion.text)
        self.opinion = opinion


def read_commands(text: str) -> list[list[str]]:
    """Return the commands of an `&&` list, each as its words. Raises CommandTextError."""
    if len(text) > MAX_LENGTH:
        raise _unreadable(f"it has more than {MAX_LENGTH} characters")
    text = text.strip()
    # As long as the text, so that positions are the same in both.
    masked = _QUOTED.sub(_mask, text)
    ends = [found.span() for found in re.finditer("&&", masked)]
    commands = []
    for start, end in zip((0, *(end for _, end in ends)), (*(start for start, _ in ends), len(text)), strict=True):
        if (sign := _SIGN.search(masked, start, end)) is not None:
            raise _needs_script("a line end" if sign.group() == "\n" else sign.group())
        commands.append(_read_words(text[start:end]))
    return commands


def _mask(found: re.Match[str]) -> str:
    # A shell substitutes within double quotes, too.
    text = found.group()
    return text if text[0] == '"' and ("$(" in text or "`" in text) else "_" * len(text)


def _read_words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise _unreadable("a quote is never closed") from None
    if not words:
        raise _unreadable("a command is missing")
    if words[0] in _KEYWORDS:
        raise _needs_script(words[0])
    if PurePath(words[0]).name in _SHELLS and any(re.fullmatch("-[a-z]*c", word) for word in words):
        raise _needs_script("sh -c")
    return words


def _unreadable(problem: str) -> CommandTextError:
    return CommandTextError(Opinion("not-readable", f"{problem}: write it as you would type it"))


def _needs_script(sign: str) -> CommandTextError:
    text = f"{sign!r} is more than one command or an && list, and a failure could get lost in it"
    return CommandTextError(Opinion("needs-script", text, _SCRIPT))


def steps_of(spec: TaskSpec) -> tuple[str, ...]:
    """Return the commands to run, one after the other. If the task asks for a shell, the shell gets all of the text."""
    commands = [] if spec.shell else read_commands(spec.verify)
    return (spec.verify,) if len(commands) < 2 else tuple(shlex.join(words) for words in commands)


def pytest_arguments(spec: TaskSpec) -> list[str] | None:
    """Return the words of the only step that runs pytest; None if there is none, or more than one."""
    found = [words for words in ([] if spec.shell else read_commands(spec.verify)) if _is_pytest(words)]
    return found[0] if len(found) == 1 else None


def _is_pytest(words: list[str]) -> bool:
    name = PurePath(words[0].replace("\\", "/")).name
    if name in ("pytest", "py.test", "pytest.exe"):
        return True
    return re.match("(?i)(?:python|pypy)[0-9.]*(?:[.]exe)?$", name) is not None and words[1:3] == ["-m", "pytest"]


# --- problems


#: Commands that print, show or prepare something, and exit with 0 whatever the code does.
_IDLE_TEXT = """
    : echo printf true sleep pwd date whoami hostname uname id printenv seq yes
    cat ls dir tree head tail less more wc stat file du df ps sort uniq cut tr sed tee basename dirname realpath
    cd export unset set mkdir touch cp mv rm ln chmod chown
    git-status git-log git-show git-branch git-add git-commit git-fetch git-pull git-push git-stash git-tag git-blame"""
_IDLE = frozenset(_IDLE_TEXT.split())
#: The beginning of a command that only a shell understands, and prefixes of a command.
_FOR_A_SHELL = re.compile(r"!|\.|alias|cd|export|popd|pushd|set|source|unset|[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PREFIX = re.compile(r"!|[A-Za-z_]\w*\+?=.*", re.DOTALL)
#: Options with which a runner runs no test.
_LISTS = frozenset({"--co", "--collect-only", "--collectonly", "--listTests", "--list-tests", "--no-run"})
#: A runner without a selection of tests.
_EVERYTHING = re.compile(
    r"(?:(?:uv|poetry|pdm|hatch) run |npx |bundle exec )?(?:\S*python\S* -m )?(?:\S*/)?"
    r"(?:pytest|py\.test|unittest(?: discover)?|tox|nox|jest|vitest(?: run)?|mocha|rspec|phpunit|ctest"
    r"|npm t|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:tests?|check)|go test \./\.\.\."
    r"|(?:cargo|deno|dotnet|gradle|gradlew|mix|mvn|mvnw|rake|swift) test)"
    r"(?: (?:-[qsvx]+|\.|(?:\./)?tests?/?))*"
)


def lint_command(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return the problems of the verify command, those that make it invalid first."""
    try:
        commands = read_commands(spec.verify)
    except CommandTextError as error:
        return (error.opinion,)
    found: list[Opinion] = []
    sign = next((words[0] for words in commands if _FOR_A_SHELL.fullmatch(words[0])), "")
    if sign and not spec.shell:
        ways = f'{_SCRIPT}; or let a shell run it: shell: true in YAML, <verify shell="true"> in XML'
        found.append(
            Opinion("needs-shell", f"{_one_line(sign)!r} needs a shell, but the command runs without one", ways)
        )
    programs = [list(dropwhile(_PREFIX.fullmatch, words)) for words in commands]
    checks = [words for words in programs if words and not _is_idle(words)]
    listing = next((word for words in checks for word in words if word in _LISTS), "")
    if not checks:
        name = _one_line(" ".join(commands[-1]))
        text = f"`{name}` exits with 0 whatever the code does: name a test to run"
        found.append(Opinion("proves-nothing", text))
    elif listing:
        found.append(Opinion("runs-no-test", f"with `{listing}` no test runs: leave it out"))
    elif len(checks) == 1 and _EVERYTHING.fullmatch(" ".join(checks[0])):
        text = f"`{_one_line(spec.verify)}` runs all tests: name those of this task"
        found.append(Opinion("too-broad", text))
    return tuple(found)


def _is_idle(words: list[str]) -> bool:
    name = os.path.basename(words[0])
    return ("-".join((name, *words[1:2])) if name == "git" else name) in _IDLE


#: A number, `code`, snake_case, camelCase, CapitalLetters inside, a path, a call.
_NAMES = re.compile(r"[0-9]|`[^`]+`|\w_\w|[a-z][A-Z]|\w/\w|\w\.\w|\w\(|%")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
#: Words that describe that it is done, or how well, but not what.
_EMPTY_TEXT = """
    a all an and any are as at be bug by clean code complete completed correct correctly done everything expected
    feature fine finished fixed good has implementation implemented in is it looks machine me met my now of on pass
    passes passing perfectly properly ready requirements should so success task tasks test tests that the this to well
    with work working works"""
_EMPTY = frozenset(_EMPTY_TEXT.split())


def lint_done(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return a problem if the done-criteria are vague: fewer than two of their words name something."""
    done = spec.done[:MAX_LENGTH]
    if _NAMES.search(done) or len({word for word in _WORD.findall(done.lower()) if word not in _EMPTY}) > 1:
        return ()
    text = f"{_one_line(spec.done)!r} can't be checked: describe what exists, or how many tests pass"
    return (Opinion("vague-done", text),)


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()))
