"""The page, as far as it can be looked at without a browser; the browser's part is `tox -e browser`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser

import pytest

from phase_gate.gate.measured import Section, Table
from phase_gate.report.drawing import legend_signs
from phase_gate.report.html import _embed, load_template, render_html
from phase_gate.report.markdown import show
from phase_gate.report.story import Happening, Story
from phase_gate.values import replace
from tests.report.history import History, given
from tests.report.samples import TEXTS, build_hostile, build_long, build_sample

#: Whatever else stands in a page is somebody else's.
ELEMENTS = re.findall(
    r"\w+",
    "html head meta title link style body a nav ul ol li button main header p span code small h1 h2 h3 h4 dl div dt dd"
    " section article blockquote details summary svg defs desc pattern rect path line circle polyline text g label"
    " wbr select option input table caption thead tbody tr th td noscript figure figcaption strong time footer script",
)


class Seen(HTMLParser):
    """Notes every element, and that each is closed by its own end."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("nobody wrote a comment")


@cache
def page(name: str) -> str:
    stories: dict[str, Callable[[], Story]] = {
        "sample": lambda: build_sample().story(),
        "hostile": build_hostile,
        "nothing": lambda: History().story(),
    }
    return render_html(stories[name]())


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


PAGES = ("sample", "hostile", "nothing")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_our_elements_only_and_loads_nothing(name: str) -> None:
    found = seen(page(name)).elements
    tags = [tag for tag, _ in found]
    assert set(tags) <= set(ELEMENTS)
    assert not set(tags) & {"img", "iframe", "object", "embed", "video", "audio", "base", "form"}
    assert tags.count("script") == 2
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in found:
        assert not any(attribute.startswith("on") for attribute in attributes), (tag, attributes)
        assert "style" not in attributes
        if tag == "a":
            assert (attributes["href"] or "").removeprefix("#") in ids
        for attribute in ("src", "href", "action", "data", "xlink:href"):
            value = attributes.get(attribute) or ""
            assert value.startswith(("#", "data:image/svg+xml,")) or not value, (tag, value)
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])
    assert len(page(name)) < 400_000, "of bounded size, also where it is hostile"


def test_the_policy_names_our_style_and_our_script_and_nothing_else() -> None:
    text = page("sample")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert style is not None
    assert script is not None
    hashes = [base64.b64encode(hashlib.sha256(each[1].encode()).digest()).decode() for each in (style, script)]
    assert policy[1].replace("&#x27;", "'") == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    assert "https://" not in style[1] + script[1]
    assert "innerHTML" not in script[1]
    assert "eval" not in re.findall(r"\w+", script[1])


def test_every_part_is_there() -> None:
    found = seen(page("sample").replace("<wbr/>", ""))
    text = " ".join(found.texts)
    for said in (
        "GREEN is in progress",
        "Needs one more green run with no file changes",
        "pytest --phase=green",
        "All tests passing (stable)",
        "consecutive_green_runs >= required_green_runs",
        "Explicit exit signal",
        "AC-8",
        "test_two_writers_at_once",
        "-18 points",
        "its body is the same as that of test_adds",
        "mara let the breaker try again in GREEN",
        "the circuit opens: the same error 5 times",
        "follows the one before it",
    ):
        assert said in text, said
    titles = [text for text in found.texts if text in ("Both gates", "Runs", "Criteria", "Tests", "Trend", "Evidence")]
    assert len(titles) >= 12  # as a heading, and in the navigation


def test_ten_thousand_runs_are_a_file_that_can_be_sent() -> None:
    text = render_html(build_long(10_000))
    assert len(text) < 2_000_000
    assert len(seen(text).elements) < 8_000
    # Twice as many runs, and hardly more to draw.
    assert len(seen(render_html(build_long(20_000))).elements) <= len(seen(text).elements) + 100


def test_thin_columns_have_only_signs_that_nobody_may_miss() -> None:
    story = build_long(10_000)
    assert legend_signs(story) == []
    override = Happening(run=9_900, at=story.at, kind="override", text="mara forced GREEN")
    signs = legend_signs(replace(story, happenings=(*story.happenings, override)))
    assert [kind for kind, *_ in signs] == ["override"]
    assert "exited" in [kind for kind, *_ in legend_signs(build_sample().story())]


def test_choices_stay_together() -> None:
    history = History()
    history.run("RED", {"a.py::test_a": "f"}, signal=given("it fails"))
    for _ in range(2):
        history.run("GREEN", {"a.py::test_a": "p"}, tree="t", signal=given("green"))
    history.run("REFACTOR", {"a.py::test_a": "p"}, tree="t")
    text = re.sub(r"<[^>]+>|\s+", " ", render_html(history.story()).partition("Gate 1")[2].partition("</article>")[0])
    assert re.search(r"one of .*refactoring_complete == true .*iteration &gt;= max_refactor_iterations", text)


def test_a_proof_shows_the_runs_of_a_target_side_by_side() -> None:
    row = page("sample").replace("<wbr/>", "").partition("test_fee_from_the_second_on</th>")[2].partition("</tr>")[0]
    for label, text in (
        ("without the change", "fails"),
        ("with it", "passes"),
        ("emptied", "not noticed"),
        ("verdict", "checks-nothing"),
    ):
        assert text in row.partition(f'data-label="{label}"')[2].partition("</td>")[0]
    assert "<code>phase-gate prove</code> makes one" in page("nothing")


def test_parts_of_special_workflows_are_shown_as_they_are() -> None:
    table = Table(title="Steps", columns=("step", "standing"), rows=(("build", "passed"),))
    section = Section(title="Pipeline", lines=("14 states",), tables=(table,))
    text = " ".join(seen(render_html(replace(build_sample().story(), more=(section,)))).texts)
    assert "Pipeline" in text
    assert "14 states" in text
    assert "build" in text


# --- no text gets out of the place that it is put into


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_stays_a_text(text: str) -> None:
    template = '<p title="{{ text }}">{{ text }}</p><p>{{ text | wrap }}</p>'
    made, named = (
        f"{each}</p>" for each in load_template().environment.from_string(template).render(text=text).split("</p>")[:2]
    )
    (tag, attributes), *others = seen(made).elements
    assert {name for name, _ in seen(named).elements} <= {"p", "wbr"}
    assert "".join(seen(named).texts) == show(text)
    assert (tag, attributes, others) == ("p", {"title": show(text)}, [])
    assert "".join(seen(made).texts) == show(text)
    made.encode("utf-8")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_document_stays_a_document(text: str) -> None:
    made = _embed({"name": text})
    assert json.loads(made) == {"name": text}
    assert not {"<", ">", "&"} & set(made)
    assert made.isascii()


@pytest.mark.parametrize("name", ["page.html", "parts.html"])
def test_templates_switch_nothing_off(name: str) -> None:
    environment = load_template().environment
    assert environment.loader is not None
    source = environment.loader.get_source(environment, name)[0]
    assert not re.search(r"\bsafe\b|autoescape|\son\w+=", source)
    # Where the quotes of an attribute are missing, escaping does not help.
    assert not re.search(r"\w=\{\{", source)
