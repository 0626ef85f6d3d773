"""The fenced blocks of the documentation: find them, run them, compare what they show with what really happens.

Kinds, by the words behind the fence:

- `console`: `$ command` lines with their output. A line `...` stands for any lines, `[...]` for any text in a line. A
  command that does not end with 0 is followed by `$ echo $?`.
- any language with `title="path"`: a file, written into the page's folder.
- `yaml configuration`, `yaml criteria`, `yaml workflow`, `yaml signal`, `yaml task`, `xml task`,
  `yaml executor-result`, `yaml verdict`: read by our own parsers.
- `mermaid`: a diagram, read by the parser of diagrams.
- `sh set-up`, `sh install`: commands that need a checkout or a package index, compared and not run.

A page that says `<!-- installed: quality -->` is read with the extras installed; the others, with the plugin alone. One
that says `<!-- plugins: NAME -->` has another plugin of pytest besides.

`python -m tests.docs.blocks PAGE ...` runs pages and puts the real output where another one stands.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from phase_gate.values import Value
from tests.sweeps import IS_WHOLE
from tests.warm import WITH_PROOF, WITHOUT_EXTRAS, WarmServer

ROOT = Path(__file__).parent.parent.parent

#: Seconds for one command; the slowest runs pytest three times.
TIMEOUT = 120

_FENCE = re.compile(r"(`{3,})(.*)")
_TITLE = re.compile(r'title="([^"]+)"')
_ANY_LINES = "..."
_ANY_TEXT = "[...]"
_LAST_STATUS = "echo $?"
#: What a shell does not take as it stands, even where a quote would protect it.
_FOR_A_SHELL = re.compile(r"[$&|;<>()*?\[\]#~`\\\\\n]")
_RULE = re.compile("={3,}")
_ABOUT_PROOFS = re.compile("[Pp]roof|prove|proving")
_EXTRAS = "<!-- installed: quality -->"
_PLUGINS = re.compile(r"<!-- plugins: (\S+) -->")


class Block(Value):
    page: Path
    #: Of the opening fence, from 1.
    line: int
    info: str
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def title(self) -> str | None:
        found = _TITLE.search(self.info)
        return None if found is None else found[1]

    @property
    def kind(self) -> str:
        return "file" if self.title is not None else self.info.strip()


class Command(Value):
    typed: str
    expected: tuple[str, ...]
    #: Of its `$` line, from 1.
    line: int


class Output(Value):
    command: Command
    code: int
    output: tuple[str, ...]

    @property
    def matches(self) -> bool:
        return matches(self.command.expected, self.output)


def pages() -> list[Path]:
    """Return every page whose blocks are run or checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the page's fenced blocks in order. A fence that is never closed is an error."""
    blocks: list[Block] = []
    fence, info, start, lines = "", "", 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if fence:
            if line == fence:
                blocks.append(Block(page=page, line=start, info=info, lines=tuple(lines)))
                fence = ""
            else:
                lines.append(line)
        elif found := _FENCE.fullmatch(line):
            fence, info, start, lines = found[1], found[2], number, []
        elif line.lstrip().startswith(("```", "~~~")):
            raise AssertionError(f"{page.relative_to(ROOT)}:{number}: begin fences at the start of a line, with ```")
    if fence:
        raise AssertionError(f"{page.relative_to(ROOT)}:{start}: this fence is never closed")
    return blocks


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a console block, each with the output that the page shows."""
    commands: list[Command] = []
    for number, line in enumerate(block.lines, start=block.line + 1):
        if line.startswith("$ "):
            commands.append(Command(typed=line[2:], expected=(), line=number))
        elif not commands:
            raise AssertionError(f"{block.page.relative_to(ROOT)}:{number}: output without a `$ ` line before it")
        else:
            last = commands.pop()
            commands.append(Command(typed=last.typed, expected=(*last.expected, line), line=last.line))
    return commands


def matches(expected: Iterable[str], output: Iterable[str]) -> bool:
    """Tell whether the output is what the page shows, wildcards considered."""
    pattern = "".join(r"(?:.*\n)*?" if line == _ANY_LINES else f"{_pattern(line)}\n" for line in _trimmed(expected))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(output))) is not None


def _pattern(line: str) -> str:
    pattern = ".*".join(map(re.escape, line.split(_ANY_TEXT)))
    # Ten seconds are a character more than nine, and the rule around them is one shorter.
    return pattern if _ANY_TEXT not in line else _RULE.sub("={3,}", pattern)


def _trimmed(lines: Iterable[str]) -> list[str]:
    rows = [line.rstrip() for line in lines]
    while rows and not rows[-1]:
        rows.pop()
    return rows


class Session:
    """A reader at a terminal: one folder, one page, with our plugin and nothing else that happens to be installed.

    :param packages: a folder with packages that are installed besides.
    :param extras: whether our extras are.
    :param plugins: plugins of pytest besides ours.
    :param proofs: whether they are made by what the warm server runs.
    :param children: gives the warm server, which runs a plain line without starting Python.
    """

    def __init__(
        self,
        base: Path,
        *,
        packages: Path | None = None,
        extras: bool = False,
        plugins: Iterable[str] = (),
        proofs: bool = True,
        children: Callable[[], WarmServer] | None = None,
    ) -> None:
        self.folder = base / "project"
        self._plugins = ("phase_gate.plugin", *plugins)
        self._commands, self._home = base / "bin", base / "home"
        self._packages, self._extras = packages, extras
        self._status, self._proofs = 0, proofs
        self._children = children
        for folder in (self.folder, self._commands, self._home):
            folder.mkdir(parents=True)
        python = shlex.quote(sys.executable)
        for name, module in (("pytest", "pytest"), ("phase-gate", "phase_gate.cli"), ("python", "")):
            script = self._commands / name
            call = f"{python} -m {module}" if module else python
            script.write_text(f'#!/bin/sh\nexec {call} "$@"\n', encoding="utf-8")
            script.chmod(0o755)

    def environment(self) -> dict[str, str]:
        inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != WITHOUT_EXTRAS]
        paths = ["" if self._extras else WITHOUT_EXTRAS, str(self._packages or ""), *inherited]
        return {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PATH": f"{self._commands}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self._home),
            "XDG_STATE_HOME": str(self._home / "state"),
            "USER": "dev",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **({WITH_PROOF: "yes"} if self._proofs else {}),
            "PYTEST_PLUGINS": ",".join(self._plugins),
            "GIT_CONFIG_GLOBAL": str(self._home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "dev",
            "GIT_AUTHOR_EMAIL": "dev@example.org",
            "GIT_COMMITTER_NAME": "dev",
            "GIT_COMMITTER_EMAIL": "dev@example.org",
        }

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def type(self, line: str) -> tuple[int, str]:
        """Run one line in a shell that knows how the line before it ended; return the status and what was said."""
        if self._children is not None and (words := plain_call(line)):
            self._status, message = self._children().run_mixed(self.folder, words, self.environment())
            return self._status, message
        done = subprocess.run(
            ["sh", "-c", f"(exit {self._status})\n{line}"],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        self._status = done.returncode
        return done.returncode, done.stdout


def plain_call(line: str) -> tuple[str, ...]:
    """Return the words of a call of pytest or the command that a shell would only pass on; nothing for other lines."""
    words = () if _FOR_A_SHELL.search(line) else tuple(shlex.split(line))
    return words if words[:1] in (("pytest",), ("phase-gate",)) else ()


def wants_extras(page: Path) -> bool:
    return _EXTRAS in page.read_text(encoding="utf-8")


def shows_proofs(page: Path) -> bool:
    """Tell whether a command of the page, or what it says, is about proofs; `tox -e sweeps` makes them anywhere."""
    shown = (line for block in blocks_of(page) if block.kind == "console" for line in block.lines)
    return IS_WHOLE or any(map(_ABOUT_PROOFS.search, shown))


def wanted_plugins(page: Path) -> list[str]:
    return _PLUGINS.findall(page.read_text(encoding="utf-8"))


def run_page(page: Path, session: Session) -> Iterator[Output]:
    """Write the page's files and run its commands, in the order of the page."""
    for block in blocks_of(page):
        if block.title is not None:
            session.write(block.title, block.text)
        elif block.kind == "console":
            for command in commands_of(block):
                code, output = session.type(command.typed)
                yield Output(command=command, code=code, output=tuple(output.splitlines()))


def unsaid_statuses(page: Path, ran: Iterable[Output]) -> list[str]:
    """Return the places of commands that did not end with 0, where the page does not show it."""
    rows = list(ran)
    return [
        f"{page.relative_to(ROOT)}:{this.command.line}: ended with {this.code}; show it with `$ {_LAST_STATUS}`"
        for this, following in zip(rows, [*rows[1:], None], strict=False)
        if this.code != 0 and (following is None or following.command.typed != _LAST_STATUS)
    ]


# Bringing pages up to date

_VARYING: Mapping[str, str] = {
    r"in \d+\.\d+s": "in [...]s",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z": "[...]",
    r"\brun [0-9a-f]{8}\b": "run [...]",
    r"\b[0-9a-f]{16,64}\b": "[...]",
    # pytest's head: its title, what it says about the machine, and how much was collected.
    r"^(=+ test session starts =+|platform .*|(rootdir|configfile|phase gate): .*|collected .*)$": "...",
}


def _shown(line: str, folder: Path) -> str:
    line = line.replace(str(folder.resolve()), "[...]").replace(str(folder), "[...]").rstrip()
    for pattern, wildcard in _VARYING.items():
        line = re.sub(pattern, wildcard, line)
    return line


def _merged(lines: Iterable[str]) -> list[str]:
    """Make one wildcard of neighbouring ones, and of the empty lines between and behind them."""
    rows: list[str] = []
    for line in lines:
        if rows[-1:] != [_ANY_LINES] or (line and line != _ANY_LINES):
            rows.append(line)
    return _trimmed(rows)


def _with_wildcards(expected: Iterable[str], shown: list[str]) -> list[str]:
    """Return the new output with what the page left out before: the reader is not to be told more than that."""
    old, rows = list(expected), list[str]()
    for kind, begin, end, first, last in SequenceMatcher(None, old, shown, autojunk=False).get_opcodes():
        before = old[begin:end]
        is_left_out = _ANY_LINES in before or (kind == "insert" and rows[-1:] == [_ANY_LINES])
        rows += shown[first:last] if kind == "equal" or not is_left_out else before
    return _merged(rows)


def update_page(page: Path) -> int:
    """Put the real output into the page where it shows another one; return how many commands that were."""
    with tempfile.TemporaryDirectory() as base:
        session = Session(Path(base), extras=wants_extras(page), plugins=wanted_plugins(page))
        ran = list(run_page(page, session))
        wrong = [each for each in ran if not each.matches]
        rows = page.read_text(encoding="utf-8").splitlines()
        for each in reversed(wrong):
            start = each.command.line
            shown = [_shown(line, session.folder) for line in each.output]
            rows[start : start + len(each.command.expected)] = _with_wildcards(each.command.expected, _merged(shown))
    page.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for complaint in unsaid_statuses(page, ran):
        print(complaint)
    return len(wrong)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(f"{argument}: {update_page(Path(argument).resolve())} outputs were not as shown")
