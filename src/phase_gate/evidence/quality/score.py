"""How hard code is to read: points from numbers that tools gave, and places that could be better.

Pure. Points are counted over all code, wherever it stands: moving and renaming change nothing. Quality is what is
missing to none at all, so 0 is best and more is better.

    points = cognitive complexity of all code
           + what a function has above the limits of cyclomatic complexity, length and nesting
           + statements that stand elsewhere, too
           + lint findings
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from phase_gate.gate.measured import Table
from phase_gate.values import Value, as_dict, fields
from phase_gate.visible import count
from phase_gate.workflow.settings import QualitySettings


class Function(Value):
    """One function or method; what is defined inside belongs to it."""

    name: str
    line: int
    cyclomatic: int
    cognitive: int
    #: Statements, and the levels of indentation below its own.
    length: int
    nesting: int
    #: Its statements: the same mark, the same code; and the lines that they begin in.
    marks: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()


class Lint(Value, kw_only=False):
    line: int
    code: str
    message: str


class FileNumbers(Value):
    """What the tools say of one file."""

    functions: tuple[Function, ...] = ()
    #: Cognitive complexity of what stands outside of functions.
    outside: int = 0
    lint: tuple[Lint, ...] = ()
    #: Findings that a comment in the file hides.
    hidden: tuple[Lint, ...] = ()


class Copy(Value):
    """Statements in a row that stand elsewhere, too."""

    file: str
    line: int
    length: int
    #: The first place with the same statements that is not this one.
    other_file: str
    other_line: int


class FileScore(Value):
    """What a file adds up to: the worst function's numbers, and sums."""

    points: int = 0
    cyclomatic: int = 0
    cognitive: int = 0
    length: int = 0
    nesting: int = 0
    copied: int = 0
    lint: int = 0


#: Of these a sum of files has the largest; of the others, the sum.
_WORST = ("cyclomatic", "length", "nesting")
#: In the order of the table.
NUMBERS = fields(FileScore)


class Place(Value, kw_only=False):
    """Where code could be better, and why."""

    file: str
    line: int
    detail: str


def score_file(numbers: FileNumbers, copies: Iterable[Copy], limits: QualitySettings) -> FileScore:
    """Return what one file adds up to."""
    functions = numbers.functions
    copied = sum(copy.length for copy in copies)
    cognitive = numbers.outside + sum(each.cognitive for each in functions)
    above = sum(
        max(0, each.cyclomatic - limits.max_cyclomatic)
        + max(0, each.length - limits.max_length)
        + max(0, each.nesting - limits.max_nesting)
        for each in functions
    )
    return FileScore(
        points=cognitive + above + copied + len(numbers.lint),
        cyclomatic=max((each.cyclomatic for each in functions), default=0),
        cognitive=cognitive,
        length=max((each.length for each in functions), default=0),
        nesting=max((each.nesting for each in functions), default=0),
        copied=copied,
        lint=len(numbers.lint),
    )


def add_scores(scores: Iterable[FileScore]) -> FileScore:
    """Return what files add up to together."""
    rows = list(scores)
    return FileScore(
        **{
            name: (max if name in _WORST else sum)((getattr(row, name) for row in rows), **_EMPTY.get(name, {}))
            for name in NUMBERS
        }
    )


_EMPTY: Mapping[str, Any] = {name: {"default": 0} for name in _WORST}


#: Where a window of statements begins: the file, which of its functions, which of that one's statements.
_Start = tuple[str, int, int]


def find_copies(files: Mapping[str, FileNumbers], length: int) -> dict[str, list[Copy]]:
    """Return, by file, the statements in a row that stand elsewhere, too: in another place, none of them shared."""
    twins: dict[tuple[str, int], dict[int, _Start]] = {}
    for starts in _repeated(files, length):
        for start in starts:
            other = next((each for each in starts if _is_apart(start, each, length)), None)
            if other is not None:
                twins.setdefault(start[:2], {})[start[2]] = other
    found: dict[str, list[Copy]] = {}
    for (path, index), by_start in sorted(twins.items()):
        lines = files[path].functions[index].lines
        for first, end in _runs(sorted(by_start), length):
            other_file, other_index, other_first = by_start[first]
            other_line = files[other_file].functions[other_index].lines[other_first]
            found.setdefault(path, []).append(
                Copy(file=path, line=lines[first], length=end - first, other_file=other_file, other_line=other_line)
            )
    return found


def _repeated(files: Mapping[str, FileNumbers], length: int) -> Iterator[list[_Start]]:
    """Yield the places of each window that there is more than once, in order."""
    everywhere = [
        (path, index, function.marks)
        for path in sorted(files)
        for index, function in enumerate(files[path].functions)
        if len(function.marks) >= length
    ]
    numbers = Counter(window for _, _, marks in everywhere for window in _windows(marks, length))
    places: dict[tuple[int, ...], list[_Start]] = {window: [] for window, number in numbers.items() if number > 1}
    for path, index, marks in everywhere:
        for start, window in enumerate(_windows(marks, length)):
            if window in places:
                places[window].append((path, index, start))
    yield from places.values()


def _windows(marks: tuple[int, ...], length: int) -> Iterator[tuple[int, ...]]:
    return zip(*(marks[shift:] for shift in range(length)), strict=False)


def _is_apart(one: _Start, other: _Start, length: int) -> bool:
    return one[:2] != other[:2] or abs(one[2] - other[2]) >= length


def _runs(starts: list[int], length: int) -> Iterator[tuple[int, int]]:
    """Join windows that overlap or touch: yield begin and end of each run of statements."""
    begin, end = starts[0], starts[0] + length
    for start in starts[1:]:
        if start > end:
            yield begin, end
            begin = start
        end = start + length
    yield begin, end


def find_places(
    files: Mapping[str, FileNumbers], copies: Mapping[str, list[Copy]], scope: list[str], limits: QualitySettings
) -> list[Place]:
    """Return where the files of the scope could be better, in the order of the scope."""
    wanted = frozenset(scope)
    places: list[Place] = []
    for path in scope:
        found = [Place(path, each.line, why) for each in files[path].functions if (why := _why(each, limits))]
        found += [
            Place(path, copy.line, f"{copy.length} statements stand at {copy.other_file}:{copy.other_line}, too")
            for copy in copies.get(path, ())
            # Of two in the scope the second one is named.
            if copy.other_file not in wanted or (copy.other_file, copy.other_line) < (path, copy.line)
        ]
        found += [Place(path, each.line, f"{each.code} {each.message}") for each in files[path].lint]
        places += sorted(found, key=lambda place: place.line)
    return places


def _why(function: Function, limits: QualitySettings) -> str:
    reasons = [
        f"{name} {number} > {limit}"
        for name, number, limit in (
            ("cyclomatic", function.cyclomatic, limits.max_cyclomatic),
            ("cognitive", function.cognitive, limits.max_cognitive),
            ("length", function.length, limits.max_length),
            ("nesting", function.nesting, limits.max_nesting),
        )
        if number > limit
    ]
    return f"{function.name}: {', '.join(reasons)}" if reasons else ""


def count_hidden(files: Mapping[str, FileNumbers]) -> dict[str, dict[str, int]]:
    """Return, by file and code, how many findings comments hide."""
    return {path: dict(Counter(each.code for each in file.hidden)) for path, file in files.items() if file.hidden}


def unhide(files: Mapping[str, FileNumbers], before: Mapping[str, Mapping[str, int]]) -> dict[str, FileNumbers]:
    """Return the files with those findings that were not hidden before: a comment makes no code better.

    As many of a code as were hidden before may be hidden now, wherever: a line that moved took its comment along.
    """
    had = Counter[str]()
    for codes in before.values():
        had.update(codes)
    spare = Counter(each.code for file in files.values() for each in file.hidden)
    spare.subtract(had)
    found = dict(files)
    for path, file in files.items():
        of_file = Counter(each.code for each in file.hidden)
        of_file.subtract(before.get(path, {}))
        shown = []
        for each in reversed(file.hidden):
            if spare[each.code] > 0 and of_file[each.code] > 0:
                spare[each.code] -= 1
                of_file[each.code] -= 1
                shown.append(Lint(each.line, each.code, f"{each.message} (hidden by a comment since the phase began)"))
        if shown:
            found[path] = FileNumbers(**{**as_dict(file), "lint": (*file.lint, *reversed(shown))})
    return found


def describe_worse(before: FileScore, now: FileScore) -> str:
    """Say so if some numbers are worse and none is better; empty otherwise."""
    pairs = [(name, getattr(before, name), getattr(now, name)) for name in NUMBERS]
    if now.points <= before.points or any(after < earlier for _, earlier, after in pairs):
        return ""
    shown = ", ".join(f"{name} {earlier} -> {after}" for name, earlier, after in pairs if after > earlier)
    return f"no number is better than when the phase began, and these are worse: {shown}"


# --- what became of the code, file by file: the numbers before and now. Pure


#: Files that are named; the others are counted.
NAMED_AT_MOST = 8
#: A line has 80 columns, and the names of files need some of them.
_HEADS = {"cyclomatic": "cyclo", "cognitive": "cogni", "nesting": "nest"}
_NOTHING = FileScore()


def quality_table(
    before: Mapping[str, FileScore] | None,
    now: Mapping[str, FileScore],
    shown: Collection[str],
    *,
    totals: tuple[FileScore, FileScore],
) -> tuple[Table, ...]:
    """Return the table of these files, the worst first, and of all files together; none if there is nothing to show."""
    earlier = now if before is None else before
    ordered = sorted(
        {*shown} & {*earlier, *now}, key=lambda path: (-max(_points(earlier, path), _points(now, path)), path)
    )
    if not ordered:
        return ()
    rows = [_row(path, earlier.get(path, _NOTHING), now.get(path, _NOTHING)) for path in ordered[:NAMED_AT_MOST]]
    if len(ordered) > NAMED_AT_MOST:
        rows.append((f"and {len(ordered) - NAMED_AT_MOST} more", *("" for _ in NUMBERS)))
    if len({*earlier, *now}) > 1:
        rows.append(_row(f"all {count(len(now), 'file')}", *totals))
    title = "Quality: fewer is better" if before is None else "Quality, before -> now: fewer is better"
    return (Table(title=title, columns=("file", *(_HEADS.get(name, name) for name in NUMBERS)), rows=tuple(rows)),)


def _points(scores: Mapping[str, FileScore], path: str) -> int:
    return scores.get(path, _NOTHING).points


def _row(name: str, before: FileScore, now: FileScore) -> tuple[str, ...]:
    pairs = ((getattr(before, each), getattr(now, each)) for each in NUMBERS)
    return (name, *(str(now) if before == now else f"{before}->{now}" for before, now in pairs))
