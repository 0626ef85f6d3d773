"""What a test expects: which values are altered and how, and which are left alone."""

from __future__ import annotations

import ast

import pytest

from phase_gate.proof.altering import Site, alter


def alter_all(source: str | bytes) -> tuple[bytes, dict[int, list[Site]]]:
    """Alter every test of a source."""
    raw = source.encode() if isinstance(source, str) else source
    functions = [each for each in ast.walk(ast.parse(raw)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [each for each in functions if each.name.startswith("test")]
    return alter(raw, {min(node.lineno for node in (each, *each.decorator_list)) for each in tests})


def sites_of(source: str) -> tuple[Site, ...]:
    return tuple(site for sites in alter_all(source)[1].values() for site in sites)


def body(*lines: str) -> str:
    return "\n".join(["def test_it():", *(f"    {line}" for line in lines), ""])


def changes(source: str) -> list[tuple[str, str]]:
    return [(site.was, site.becomes) for site in sites_of(source)]


@pytest.mark.parametrize(
    ("claim", "was", "becomes"),
    [
        pytest.param("f() == 2", "2", "1000009", id="right"),
        pytest.param("2 == f()", "2", "1000009", id="left"),
        pytest.param("f() == -2", "-2", "999997", id="signed"),
        pytest.param("f() == -500001", "-500001", "5500000", id="not-near-itself"),
        pytest.param("f() == 0.5", "0.5", "1000004.5", id="float"),
        pytest.param("f() == 'a'", "'a'", "'a~altered'", id="text"),
        pytest.param("f() == f'{a}'", "f'{a}'", "f'{a}~altered'", id="f-string"),
        pytest.param("f() == b'a'", "b'a'", "b'a~altered'", id="bytes"),
        pytest.param("f() == True", "True", "False", id="bool"),
        pytest.param("f() == None", "None", "...", id="none"),
        pytest.param("f() == [a, 1]", "[a, 1]", "[a, 1000006, '~altered']", id="list-and-leaves"),
        pytest.param(
            "f() == (1, [2])", "(1, [2])", "(1000006, [1000009, '~altered'], '~altered')", id="leaves-of-leaves"
        ),
        pytest.param("f() == {a}", "{a}", "{a, '~altered'}", id="set"),
        pytest.param(
            "f() == {'k': 1, **a}",
            "{'k': 1, **a}",
            "{'k': 1000006, **a, '~altered': '~altered'}",
            id="dict-but-not-its-keys",
        ),
        pytest.param("f() == []", "[]", "['~altered']", id="empty"),
        pytest.param("f() is None", "None", "...", id="is-none"),
        pytest.param("f() is True", "True", "False", id="is-true"),
        pytest.param("f() == 2 and a", "2", "1000009", id="operand-of-and"),
        pytest.param("f() == 2 or True", "2", "1000009", id="or-true"),
        pytest.param("(f() == 2, 'message')", "2", "1000009", id="tuple-is-always-true"),
        pytest.param("company() == 2", "2", "1000009", id="company-is-not-ANY"),
    ],
)
def test_side_of_a_comparison_is_altered(claim: str, was: str, becomes: str) -> None:
    (site,) = sites_of(body(f"assert {claim}"))
    assert (site.was, site.becomes) == (was, becomes)


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("f() != 2", id="not-equal"),
        pytest.param("not f() == 2", id="not"),
        pytest.param("f() == g() == 2", id="chain"),
        pytest.param("f() == 2 or g()", id="or-something-else"),
        pytest.param("f() == 2 or 0", id="or-a-false-constant"),
        pytest.param("f() is not None", id="is-not"),
        pytest.param("f() is ()", id="is-another-literal"),
        pytest.param("f() == g()", id="no-literal"),
        pytest.param("2 == 2", id="both-literal"),
        pytest.param("f() == float('inf')", id="call"),
        pytest.param("f() == 1e999", id="infinity-stays"),
        pytest.param(f"f() == 0x{'f' * 5000}", id="too-large-to-write"),
        pytest.param("approx(f()) == 2", id="approx"),
        pytest.param("math.isclose(f(), 2) == True", id="isclose"),
        pytest.param("np.allclose(f(), 2) is True", id="allclose"),
        pytest.param("mock.ANY == 2", id="ANY"),
    ],
)
def test_other_claims_are_left_alone(claim: str) -> None:
    assert changes(body(f"assert {claim}")) == []


@pytest.mark.parametrize(
    ("call", "was"),
    [
        pytest.param("self.assertEqual(f(), 2)", ["2"], id="second"),
        pytest.param("self.assertEqual(2, f(), 'message')", ["2"], id="first"),
        pytest.param("case.assertListEqual(f(), [2])", ["[2]"], id="list"),
        pytest.param("case.assertIs(f(), None)", ["None"], id="is"),
        pytest.param("case.assertIs(f(), ())", [], id="is-another-literal"),
        pytest.param("self.assertEqual(2, 2)", [], id="both-literal"),
        pytest.param("self.assertEqual(*pair, 2)", [], id="starred"),
        pytest.param("self.assertAlmostEqual(f(), 2)", [], id="almost"),
        pytest.param("self.assertNotEqual(f(), 2)", [], id="not"),
        pytest.param("assertEqual(f(), 2)", [], id="no-method"),
    ],
)
def test_literal_argument_of_unittest_is_altered(call: str, was: list[str]) -> None:
    assert [old for old, _ in changes(body(call))] == was


@pytest.mark.parametrize(
    ("context", "was"),
    [
        pytest.param("pytest.raises(ValueError, match='no')", ["'no'"], id="raises"),
        pytest.param("pytest.raises(Exception, match='no')", ["'no'"], id="raises-anything"),
        pytest.param("pytest.raises(ValueError, match=f'no {a}')", ["f'no {a}'"], id="f-string"),
        pytest.param("pytest.warns(match='no')", ["'no'"], id="warns"),
        pytest.param("self.assertRaisesRegex(ValueError, 'no')", ["'no'"], id="unittest"),
        pytest.param("pytest.raises(ValueError, match=pattern)", [], id="name"),
        pytest.param("pytest.raises(ValueError)", [], id="without"),
        pytest.param("self.assertRaises(ValueError, 'no')", [], id="no-regex"),
        pytest.param("expectation, pytest.raises(ValueError, match='no')", [], id="after-a-context-from-elsewhere"),
    ],
)
def test_pattern_becomes_one_that_never_matches(context: str, was: list[str]) -> None:
    assert changes(body(f"with {context}:", "    f()")) == [(each, "'(?!)'") for each in was]


HONEST = "assert f() == 2"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["if a:", f"    {HONEST}"], id="if"),
        pytest.param(["match a:", "    case 1:", f"        {HONEST}"], id="match"),
        pytest.param(["if a:", "    return", HONEST], id="after-if-with-return"),
        pytest.param(["try:", "    g()", "except OSError:", "    return", HONEST], id="after-try-with-return"),
        pytest.param(["for a in b:", "    if a:", "        continue", f"    {HONEST}"], id="after-continue"),
        pytest.param(["for a in b:", "    if a:", "        return", HONEST], id="after-a-loop-with-return"),
        pytest.param(["with g():", "    if a:", "        return", HONEST], id="after-with-with-return"),
        pytest.param(["while a:", "    with g():", "        if a:", "            break", f"    {HONEST}"], id="inner"),
        pytest.param(["with raises(AssertionError):", f"    {HONEST}"], id="raises"),
        pytest.param(["with self.assertRaises(ValueError):", f"    {HONEST}"], id="raises-in-unittest"),
        pytest.param(["with expectation:", f"    {HONEST}"], id="with-that-is-no-call"),
        pytest.param(["with must_fail():", f"    {HONEST}"], id="with-fail"),
        pytest.param(["with expect_error():", f"    {HONEST}"], id="with-error"),
        pytest.param(["try:", "    g()", "except OSError:", f"    {HONEST}"], id="handler"),
        pytest.param(["try:", f"    {HONEST}", "except AssertionError:", "    g()"], id="caught-for-a-reason"),
        pytest.param(["try:", f"    {HONEST}", "except LibraryError:", "    pass"], id="other-than-builtin"),
        pytest.param(["try:", f"    {HONEST}", "except:", "    pass", "else:", "    g()"], id="swallowed-with-else"),
    ],
)
def test_what_an_honest_test_may_pass_is_left_alone(lines: list[str]) -> None:
    assert changes(body(*lines)) == []


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["if a:", "    pass", HONEST], id="after-if-without-a-way-out"),
        pytest.param(["if a:", "    def g():", "        return 1", HONEST], id="a-return-of-another-function"),
        pytest.param(["for a in b:", "    if a:", "        break", HONEST], id="after-a-loop-that-ends-early"),
        pytest.param(["for a in b:", "    if a:", "        continue", "", HONEST], id="after-the-loop"),
        pytest.param(["for a in b:", f"    {HONEST}"], id="loop"),
        pytest.param(["with open(a):", f"    {HONEST}"], id="with"),
        pytest.param(["with pytest.warns(UserWarning):", f"    {HONEST}"], id="warns"),
        pytest.param(["with suppress(AssertionError):", f"    {HONEST}"], id="suppress"),
        pytest.param(["try:", f"    {HONEST}", "finally:", "    g()"], id="finally"),
        pytest.param(["try:", f"    {HONEST}", "except (OSError, KeyError):", "    g()"], id="lets-through"),
        pytest.param(["try:", f"    {HONEST}", "except AssertionError:", "    pass"], id="swallowed"),
        pytest.param(["try:", f"    {HONEST}", "except:", "    ..."], id="swallowed-bare"),
        pytest.param(["def g():", f"    {HONEST}"], id="nested-function"),
        pytest.param(["class A:", "    def g(self):", f"        {HONEST}"], id="method-of-a-nested-class"),
    ],
)
def test_what_is_run_or_should_be_is_altered(lines: list[str]) -> None:
    assert changes(body(*lines)) == [("2", "1000009")]


@pytest.mark.parametrize("mark", ["@pytest.mark.xfail", "@pytest.mark.xfail(reason='no')", "@unittest.expectedFailure"])
@pytest.mark.parametrize("form", ["{mark}\n{test}", "{mark}\nclass TestIt:\n    {indented}"], ids=["test", "class"])
def test_expected_failure_is_left_alone(mark: str, form: str) -> None:
    test = body(HONEST)
    assert changes(form.format(mark=mark, test=test, indented=test.replace("\n", "\n    "))) == []


def test_site_says_where_it_is() -> None:
    source = body("def cli():", "    assert (", "        result.exception", "        is None", "    )")
    (site,) = sites_of(source)
    assert (site.inside, site.line) == ("cli", 3)


def table(decorator: str, *lines: str, names: str = "n, expected") -> str:
    return f"@pytest.mark.parametrize({decorator})\n{body(*lines).replace('()', f'({names})', 1)}"


@pytest.mark.parametrize(
    ("decorator", "cells"),
    [
        pytest.param("'n, expected', [(1, 2), (3, 4)]", [(0, "2"), (1, "4")], id="rows"),
        pytest.param("['n', 'expected'], ([1, 2],)", [(0, "2")], id="names-in-a-list"),
        pytest.param("'n, expected', [(1, a), (3, 4)]", [(1, "4")], id="only-literal-cells"),
        pytest.param("'n, expected', [pytest.param(1, 2, id='a')]", [(0, "2")], id="param"),
        pytest.param("'n, expected', [(3, 4), pytest.param(1, 2, marks=pytest.mark.xfail)]", [], id="xfail-row"),
        pytest.param("'n, expected', [pytest.param(*a, 2), (*a, 2), (3, 4)]", [(2, "4")], id="starred-cells"),
        pytest.param("'expected', [1, 2]", [(0, "1"), (1, "2")], id="single"),
        pytest.param("'expected', [pytest.param(1)]", [(0, "1")], id="single-param"),
        pytest.param("'n, expected', [(1, 2)], ids=['a']", [(0, "2")], id="with-ids"),
        pytest.param("'n, expected', [(1, 2)], indirect=True", [], id="indirect"),
        pytest.param("'n, expected', [(1, 2)], ['n']", [], id="indirect-by-place"),
        pytest.param("'n, expected', ROWS", [], id="rows-from-elsewhere"),
        pytest.param("'n, expected', [*ROWS, (1, 2)]", [], id="rows-that-can-not-be-counted"),
        pytest.param("'n, other', [(1, 2)]", [], id="another-name"),
    ],
)
def test_cells_of_expected_parameters_are_altered(decorator: str, cells: list[tuple[int, str]]) -> None:
    sites = sites_of(table(decorator, "assert f(n) == expected, f'{n} is not {expected}'"))
    assert [(site.row, site.was) for site in sites] == cells
    assert {(site.parameter, site.line) for site in sites} <= {("expected", 3)}


@pytest.mark.parametrize(
    ("lines", "is_altered"),
    [
        pytest.param(["assert f(n) == expected"], True, id="one-use"),
        pytest.param(["self.assertEqual(f(n), expected)"], True, id="unittest"),
        pytest.param(["assert f(n) == expected", "print(expected)"], False, id="used-elsewhere"),
        pytest.param(["assert f(n, expected) == expected"], False, id="given-to-the-code"),
        pytest.param(["if n:", "    assert f(n) == expected"], False, id="under-if"),
        pytest.param(["assert f(n) == expected", "assert g(n) is expected"], False, id="in-two-ways"),
        pytest.param(["assert f(n) == pytest.approx(expected)"], False, id="approx"),
        pytest.param(["assert approx(f(n)) == expected"], False, id="approx-on-the-other-side"),
    ],
)
def test_parameter_has_to_be_expected_and_nothing_else(lines: list[str], is_altered: bool) -> None:
    assert bool(changes(table("'n, expected', [(1, 2)]", *lines))) is is_altered


def test_cell_of_a_pattern_becomes_one_that_never_matches() -> None:
    source = table(
        "'n, message', [(1, 'no'), (2, None)]",
        "with raises(ValueError, match=message):",
        "    f(n)",
        names="n, message",
    )
    assert changes(source) == [("'no'", "'(?!)'")]


def test_only_wanted_tests_are_altered() -> None:
    source = body(HONEST) + body(HONEST).replace("test_it", "test_other")
    text, tests = alter(source.encode(), {3})
    assert tests.keys() == {3}
    assert text.decode() == body(HONEST) + body("assert f() == 1000009").replace("test_it", "test_other")


def test_decorators_methods_and_functions_made_elsewhere_are_found() -> None:
    source = (
        "class TestIt:\n    @mark\n    @other\n    def test_it(self):\n        assert f() == 2\n"
        "def make():\n    def test_made():\n        assert f() == 3\n    return test_made\n"
    )
    assert {line: site.was for line, (site,) in alter(source.encode(), {2, 7})[1].items()} == {2: "2", 7: "3"}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            body('assert f() == """a', 'b"""', "assert f() == [", "    1,", "    (2, 3),", "]"), id="long-values"
        ),
        pytest.param(body('assert f() == f"""a', '{b}"""', "assert f() == 2"), id="long-f-string"),
        pytest.param(body("with raises(E, match=('a'", "   'b')):", "    f()"), id="long-pattern"),
        pytest.param(body("assert f() == (", "    -", "    2", ")"), id="number-on-two-lines"),
        pytest.param(body("assert f('ä', 'ö') == 'ü' and g('ß') == 2"), id="letters-of-two-bytes"),
        pytest.param(body("assert f() == 2  # \f here").replace("\n", "\r\n"), id="line-ends-of-Windows"),
        pytest.param(body("assert f() == 2", "assert f() == 3").replace("\n", "\r"), id="line-ends-of-old-Macs"),
    ],
)
def test_lines_stay_in_their_places(source: str) -> None:
    source += "assert line == 2\n"
    altered = alter_all(source)[0].decode()
    assert altered != source
    ast.parse(altered)
    old, new = (text.replace("\r\n", "\n").replace("\r", "\n").split("\n") for text in (source, altered))
    assert len(new) == len(old)
    assert new[-2:] == ["assert line == 2", ""]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            "# coding: latin-1\n".encode("latin-1") + body("assert f('ä') == 'ü'").encode("latin-1"), id="latin-1"
        ),
        pytest.param(b"\xef\xbb\xbf" + body("assert f('ä') == 'ü'").encode(), id="byte-order-mark"),
    ],
)
def test_encoding_is_kept(source: bytes) -> None:
    encoding = "latin-1" if source.startswith(b"#") else "utf-8"
    assert alter_all(source)[0] == source.replace("'ü'".encode(encoding), "'ü~altered'".encode(encoding))


@pytest.mark.parametrize("source", [b"def test_it(:\n", b"\xff", b"# coding: nonsense\n"])
def test_what_is_no_source_is_refused(source: bytes) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        alter(source, {1})
