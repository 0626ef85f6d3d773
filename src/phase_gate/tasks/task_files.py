"""Read verify tasks from YAML, or from the source document's XML form, alone or in a plan; and find their problems.

A verify command is one command, or an `&&` list. Everything else belongs in a script that a reviewer can read.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import textwrap
from itertools import dropwhile
from pathlib import Path, PurePath
from typing import NoReturn

from phase_gate.config.documents import decode_text, find_odd_character, read_bytes, read_document
from phase_gate.config.reading import Items, Node, Place, Reader, Table, Text, plain, shorten
from phase_gate.errors import DocumentError, NotAllowedError, PhaseGateError
from phase_gate.tasks.work import TaskSpec
from phase_gate.values import replace
from phase_gate.visible import cut

#: File name extensions of plans.
_MARKDOWN = (".md", ".markdown")
#: Characters: a name is a heading, not a text.
MAX_NAME = 200

#: The form of a task, for remedies.
_XML_FORM = "write <task> with <name>, <files>, <action>, <verify> and <done>"
_YAML_FORM = "write name, files, action, verify and done, or a list of such tasks"


class TaskFileError(PhaseGateError):
    slug = "bad-task-file"


def read_task_file(path: Path, name: str | None = None) -> tuple[TaskSpec, ...]:
    """Return the tasks of a file, at least one. Raises TaskFileError.

    :param name: the file's name in messages; by default the path as given.
    """
    shown = str(path) if name is None else name
    data = read_bytes(path, name=shown, error=TaskFileError, if_missing="check the path")
    return parse_tasks(data, shown)


def parse_tasks(text: str | bytes, name: str) -> tuple[TaskSpec, ...]:
    """Return the tasks of a text: a plan by its name, XML if it begins with `<`, else YAML. Raises TaskFileError."""
    try:
        source = decode_text(text, name=name)
        is_plan = name.lower().endswith(_MARKDOWN)
        if is_plan or source.lstrip().startswith("<"):
            nodes = _from_blocks(source, name, is_plan=is_plan)
        else:
            nodes = _from_yaml(read_document(source, name=name))
    except DocumentError as error:
        raise TaskFileError(error.problem, error.remedy) from None
    tasks: dict[str, tuple[TaskSpec, int]] = {}
    for node in nodes:
        task = _read_task(node)
        if task.slug in tasks:
            other, line = tasks[task.slug]
            problem = f"{shorten(task.name)} is stored in {task.slug}/, like {shorten(other.name)} of line {line}"
            _refuse(node, problem, "give each task a name of its own")
        tasks[task.slug] = (task, node.at.line)
    return tuple(task for task, _ in tasks.values())


def _read_task(node: Table) -> TaskSpec:
    reader = Reader(TaskFileError)
    if "type" in node:
        # Plans mark tasks for machines with `auto`. Any other type needs a person, and is not a task of this gate.
        reader.choose(node["type"], ("auto",))
    flaky = ""
    if "flaky" in node:
        reader.choose(node["flaky"], ("accepted",))
        if "flaky_reason" not in node:
            problem = "flaky: accepted needs a reason"
            reader.stop(node["flaky"], problem, "add flaky_reason, and what is done about it")
        flaky = reader.text(node["flaky_reason"]).strip()
    task = reader.read(TaskSpec, node, beside=("type", "flaky_reason") if flaky else ("type",), flaky=flaky)
    if len(task.name) > MAX_NAME:
        reader.stop(node["name"], f"the name has more than {MAX_NAME} characters", "move the rest to action")
    files = tuple(dict.fromkeys(_path(reader, each, node["files"]) for each in task.files))
    return plain(replace(task, files=files))


def _path(reader: Reader, given: str, where: Node) -> str:
    """Return a path relative to the root, with `/`. A folder means all files in it."""
    path = re.sub("/{2,}", "/", given.strip())
    path = path.removeprefix("./")
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or path in ("", "."):
        problem = f"{shorten(given)} is not a path relative to the project's root"
        reader.stop(where, problem, "write it as git shows it, as in src/planner.py")
    return f"{path}**" if path.endswith("/") else path


def _from_yaml(node: Node) -> list[Table]:
    """Return the task of a mapping, or the tasks of a list."""
    tasks = []
    for item in node if isinstance(node, Items) else [node]:
        if not isinstance(item, Table):
            _refuse(item, "a task is expected here", _YAML_FORM)
        tasks.append(item)
    if not tasks:
        _refuse(node, "no task in it", _YAML_FORM)
    return tasks


def _refuse(where: object, problem: str, remedy: str) -> NoReturn:
    Reader(TaskFileError).stop(where, problem, remedy)


# `<task>` blocks, in a file of their own or between the paragraphs of a plan


_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_QUOTED = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
#: In a plan a block begins a line: a tag within a sentence only mentions tasks.
_BLOCK = r"<task(?P<attributes>\s[^<>]*)?>(?P<body>.*?)(?P<end></task>|\Z)"
_ELEMENT = re.compile(r"<(?P<tag>\w+)>(?P<text>.*?)</(?P=tag)>", re.DOTALL)
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def _from_blocks(text: str, name: str, *, is_plan: bool) -> list[Table]:
    """Return the `<task>` blocks as tables, as if read from YAML."""
    # Replaced by blanks, so that positions stay the same.
    source = _COMMENT.sub(lambda found: re.sub(r"\S", " ", found.group()), text)
    begin = r"(?m:^)[ \t]*" if is_plan else ""
    found = [_read_block(block, name) for block in re.finditer(begin + _BLOCK, source, re.DOTALL)]
    if not found:
        raise TaskFileError(f"{name}:1:1: no <task> in it", _XML_FORM)
    return found


def _place(found: re.Match[str], at: int, name: str) -> Place:
    before = found.string[:at]
    return Place.of(name, before.count("\n") + 1, at - before.rfind("\n"))


def _read_block(block: re.Match[str], name: str) -> Table:
    place = _place(block, block.string.index("<", block.start()), name)
    if not block["end"]:
        _refuse(place, "<task> is never closed", "write </task> where it ends")
    elements = list(_ELEMENT.finditer(block.string, block.start("body"), block.end("body")))
    if _ELEMENT.sub("", block["body"]).strip():
        problem = "text between the elements of <task>, or one that is never closed"
        _refuse(place, problem, f"put it in <action>: {_XML_FORM}")
    table = Table.of({}, place, "")
    for attribute, quoted, single in _ATTRIBUTE.findall(block["attributes"] or ""):
        table[Text.of(attribute, place, attribute)] = Text.of(quoted or single, place, attribute, is_plain=True)
    for element in elements:
        key, value = _read_element(element, _place(element, element.start(), name))
        if key in table:
            _refuse(key, f"{key} occurs twice", "keep one of the two")
        table[key] = value
    for needed in ("name", "files", "action", "verify", "done"):
        if needed not in table:
            _refuse(place, f"<{needed}> is missing in <task>", _XML_FORM)
    return table


def _read_element(element: re.Match[str], place: Place) -> tuple[Text, Node]:
    tag, text = element["tag"], element["text"]
    key = Text.of(tag, place, tag)
    if tag not in ("files", "depends_on"):
        return key, Text.of(_meant(textwrap.dedent(text.expandtabs(4)), place), place, tag)
    rows = re.split("[,\n]" if tag == "files" else "\n", text)
    items = [Text.of(_meant(row, place), place, f"an item of {tag}") for row in rows if row.strip()]
    return key, Items.of(items, place, tag)


def _meant(text: str, place: Place) -> str:
    """Return the unescaped text: `&amp;`, `<![CDATA[&]]>` and a `&` that is not markup are all `&`."""
    unescaped = html.unescape(_QUOTED.sub(lambda found: html.escape(found[1]), text)).strip()
    if odd := find_odd_character(unescaped):
        _refuse(place, f"the character {odd} can't be in a task", "write printable text only")
    return unescaped


# --- the problems of a task


_SCRIPT = "put it into a script that the task's reviewer can read, and run that: sh check.sh"
_SPECIFIC = "write a verify command that fails as long as the task is not done, like pytest tests/test_it.py"


def lint_task(spec: TaskSpec) -> tuple[str, ...]:
    """Return the flags of a task. Raises NotAllowedError for a verify command that proves nothing."""
    try:
        flags = (lint_command(spec.verify), lint_done(spec.done))
    except NotAllowedError as error:
        raise NotAllowedError(f"{spec.name}: {error.problem}", remedy=error.remedy) from None
    return tuple(filter(None, flags))


# --- the words of a command


#: Quoted text, in which signs have no special meaning. Within double quotes, a shell still substitutes.
_QUOTES = re.compile(r"'[^']*'|\"(?:\\.|(?!\$\(|`)[^\"\\])*\"|\\.", re.DOTALL)
#: Signs that can hide a failure: pipes, lists, redirections, brackets, comments, substitutions.
_SIGN = re.compile(r"\|\|?|[;&<>()`\n]|\$\(|(?<!\S)#")
#: Words that begin something other than a command, or that change the meaning of the rest.
_KEYWORD_TEXT = "{ [[ case eval exec exit for function if return select trap until while"
_KEYWORDS = frozenset(_KEYWORD_TEXT.split())
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
#: Characters of a command that a person can still read. Splitting a longer one takes too long.
_LONGEST = 10_000
#: Before the words of a command: a negation, or a variable.
_PREFIX = re.compile(r"!|[A-Za-z_]\w*\+?=.*", re.DOTALL)


def read_commands(text: str) -> dict[str, list[str]]:
    """Return the commands of an `&&` list, each with its words. Raises NotAllowedError for any other text."""
    if len(text) > _LONGEST:
        raise NotAllowedError(f"the command has {len(text):,} characters (needs-script)", remedy=_SCRIPT)
    at, commands = 0, {}
    # Masked texts have the same length.
    for part in _QUOTES.sub(lambda found: "_" * len(found.group()), text).split("&&"):
        if (sign := _SIGN.search(part)) is not None:
            raise _needs_script("a line end" if sign.group() == "\n" else sign.group())
        command = text[at : at + len(part)]
        commands[command.strip()] = _read_words(command)
        at += len(part) + len("&&")
    return commands


def _read_words(text: str) -> list[str]:
    """Return the words of a command, without negation and variables."""
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
    return list(dropwhile(_PREFIX.fullmatch, words))


def _unreadable(problem: str) -> NotAllowedError:
    return NotAllowedError(f"{problem} (not-readable)", remedy="write the command as you would type it")


def _needs_script(sign: str) -> NotAllowedError:
    problem = f"{sign!r} is more than one command or an && list, and a failure could get lost in it (needs-script)"
    return NotAllowedError(problem, remedy=_SCRIPT)


def pytest_command(text: str) -> str:
    """Return the only command of the list that runs pytest; empty if there is none, or if `cd` comes before it."""
    commands = read_commands(text)
    found = [each for each, words in commands.items() if _is_pytest(words)]
    return found[0] if len(found) == 1 and not any(words[:1] == ["cd"] for words in commands.values()) else ""


def _is_pytest(words: list[str]) -> bool:
    name = PurePath(words[0].replace("\\", "/")).name if words else ""
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
#: Options with which a runner runs no test, and options that choose the task of a run.
_LISTS = frozenset({"--co", "--collect-only", "--collectonly", "--listTests", "--list-tests", "--no-run"})
_OURS = frozenset({"--phase", "--phase-task", "--phase-dir"})
#: A runner without a selection of tests.
_EVERYTHING = re.compile(
    r"(?:(?:uv|poetry|pdm|hatch) run |npx |bundle exec )?(?:\S*python\S* -m )?(?:\S*/)?"
    r"(?:pytest|py\.test|unittest(?: discover)?|tox|nox|jest|vitest(?: run)?|mocha|rspec|phpunit|ctest"
    r"|npm t|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:tests?|check)|go test \./\.\.\."
    r"|(?:cargo|deno|dotnet|gradle|gradlew|mix|mvn|mvnw|rake|swift) test)"
    r"(?: (?:-[qsvx]+|\.|(?:\./)?tests?/?))*"
)


def lint_command(text: str) -> str:
    """Return why a verify command is flagged; empty if it is not. Raises NotAllowedError if it proves nothing."""
    commands = read_commands(text)
    checks = [words for words in commands.values() if words and not _is_idle(words)]
    words = {word for words in checks for word in words}
    if not checks:
        name = _one_line(list(commands)[-1])
        problem = f"`{name}` exits with 0 whatever the code does: name a test to run (proves-nothing)"
        raise NotAllowedError(problem, remedy=_SPECIFIC)
    if listing := words & _LISTS:
        raise NotAllowedError(f"with `{min(listing)}` no test runs: leave it out (runs-no-test)", remedy=_SPECIFIC)
    if _OURS.intersection(word.partition("=")[0] for word in words):
        raise NotAllowedError(
            "the verify command chooses a phase, so its run would be recorded for another task",
            remedy="leave --phase out: a run of pytest is recorded for this task automatically",
        )
    is_broad = len(checks) == 1 and _EVERYTHING.fullmatch(" ".join(checks[0]))
    return f"`{_one_line(text)}` runs all tests: name those of this task (too-broad)" if is_broad else ""


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


def lint_done(done: str) -> str:
    """Return why the done-criteria are vague: fewer than two of their words name something; empty if they are not."""
    words = set(_WORD.findall(done.lower())) - _EMPTY
    if _NAMES.search(done) or len(words) > 1:
        return ""
    return f"{_one_line(done)!r} can't be checked: describe what exists, or how many tests pass (vague-done)"


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()))


# --- the executor's claim


def is_same_command(claimed: str, command: str) -> bool:
    """Return whether two texts are the same command. Spaces, needless quotes, a prompt and code marks do not count."""
    return _words(claimed) == _words(command)


def _words(text: str) -> list[str]:
    text = text.replace("\\\n", " ").strip().strip("`").strip().removeprefix("$ ")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
