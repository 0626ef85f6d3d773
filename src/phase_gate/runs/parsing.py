"""Read the tests in the source of a test file; imported only if a file is new or has changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from phase_gate.gate.inventory import TestFile, bare_name
from phase_gate.source.module_code import module_code
from phase_gate.source.syntax_names import requested_names
from phase_gate.source.tests import are_doctests, find_doctests, find_tests, hash_examples, parse_source


def read_tests(path: str, names: Sequence[str], ids: tuple[str, ...], content: str, source: bytes) -> TestFile:
    """Return a file with the bodies of its tests, and the code around them.

    :param names: of its tests, as collected.
    :param content: the id of its content.
    """
    if not path.endswith(".py"):
        return TestFile(content=content, ids=ids, bodies=_examples_in_text(path, names, source))
    try:
        # With any name pattern: additional functions do no harm, because only collected names are looked up.
        tree = parse_source(source)
    except SyntaxError:
        return TestFile(content=content, ids=ids)
    wanted = {bare_name(name) for name in names}
    tests = find_tests(tree, functions=("*",), classes=("*",))
    bodies = {test.name: test.body for test in tests if test.name in wanted}
    if wanted - bodies.keys():
        examples = find_doctests(tree, path)
        if are_doctests(wanted, path, bodies):
            # The code around them is the code under test.
            bodies = {name: examples.get(name, "") for name in wanted}
            return TestFile(content=content, ids=ids, bodies=bodies, is_source=True)
        bodies = {**{name: body for name, body in examples.items() if name in wanted}, **bodies}
    rows = module_code(tree, tests=wanted)
    return TestFile(
        content=content,
        ids=ids,
        bodies=bodies,
        statements=tuple(row.hash for row in rows),
        requests=tuple(sorted(requested_names(tree, tests=wanted))),
    )


def _examples_in_text(path: str, names: Collection[str], source: bytes) -> dict[str, str]:
    """Return the hash of a text's examples, by pytest's name for it; empty for any other kind of file."""
    name = path.rpartition("/")[2]
    if {*names} != {name} or b">>>" not in source:
        return {}
    # With the line ends as pytest reads them: they differ between checkouts on different systems.
    body = hash_examples(source.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))
    return {name: body} if body else {}
