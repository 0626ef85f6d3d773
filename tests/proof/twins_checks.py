"""Honest steps whose tests have few checks, or ask for what can't be emptied: they open, and say so."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.proof.model import MEANINGS
from tests.proof.twins import INI, Twin

_FILE = "tests/test_calc.py"
_STUB = "    raise NotImplementedError\n"
_RAISES_NOTHING = MEANINGS["nothing-raised"]
_CHECKS_NOTHING = MEANINGS["checks-nothing"]
_UNTRIED = f"{MEANINGS['unknown']}: nothing of the new code could be emptied for it"


def _step(test: str, code: str, *, before: str = "", **more: object) -> Twin:
    """Return a step from a stub, or from nothing, to this code."""
    return Twin(
        red={"pytest.ini": INI, _FILE: f"import pytest\n\nimport calc\n\n\n{test}", "calc.py": before},
        green={"calc.py": code},
        **more,  # type: ignore[arg-type]
    )


_TIDY = "def tidy(rows):\n"
_TEST_TIDY = """\
def test_sorts():
    rows = [2, 1]
    calc.tidy(rows)
    assert rows == [1, 2]


def test_leaves_what_is_sorted():
    rows = [1, 2]
    before = list(rows)
    calc.tidy(rows)
    assert rows == before
"""
_CLEAN = "def clean(folder):\n"
_TEST_CLEAN = """\
def test_leaves_an_empty_folder(tmp_path):
    calc.clean(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == []
"""
_CODEC = """\
import codecs


def encode(text, errors="strict"):
    return text[::-1].encode(), len(text)


codecs.register(lambda name: codecs.CodecInfo(encode, None, name="mirror") if name == "mirror" else None)
"""
_IGNORING = "class Ignoring:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *details):\n"
_ROWS = """\
@pytest.mark.parametrize("name", calc.RULES)
def test_rules(name):
    assert calc.apply(name) == name.upper()
"""
_RULES = "RULES = {rules!r}\n\n\ndef apply(name):\n    return {answer}\n"
_PROFILES = "from hypothesis import settings\n\nsettings.register_profile('dev', max_examples=20)\n"
_PROPERTY = """\
from hypothesis import given, strategies


@given(strategies.integers())
def test_double(number):
    assert calc.double(number) == 2 * number
"""

CHECK_TWINS: Mapping[str, Twin] = {
    "a test shows only that nothing is raised": _step(
        "def test_known():\n    calc.look_up('a')\n",
        "def look_up(name):\n    return {'a': 1}[name]\n",
        before=f"def look_up(name):\n{_STUB}",
        targets=0,
        says=(_RAISES_NOTHING,),
    ),
    "a test shows only that nothing is raised, and the unit was missing": Twin(
        red={"pytest.ini": INI, _FILE: "import calc\n\n\ndef test_known():\n    calc.look_up('a')\n"},
        green={"calc.py": "def look_up(name):\n    return {'a': 1}[name]\n"},
        targets=0,
        says=(_RAISES_NOTHING,),
    ),
    "a unit that is named like a check raises nothing": _step(
        "def test_known():\n    calc.verify_name('a')\n",
        "def verify_name(name):\n    if not name:\n        raise ValueError\n",
        before=f"def verify_name(name):\n{_STUB}",
        targets=0,
        says=(_RAISES_NOTHING,),
    ),
    "nothing happens here": _step(_TEST_TIDY, f"{_TIDY}    rows.sort()\n", before=_TIDY + _STUB, targets=2),
    "nothing happens here, in files": _step(
        _TEST_CLEAN,
        f"{_CLEAN}    for path in folder.glob('*.tmp'):\n        path.unlink()\n",
        before=_CLEAN + _STUB,
        targets=0,
        says=(_CHECKS_NOTHING, "clean can do nothing, and no target notices: check what it returns or changes"),
    ),
    "a new exception": _step(
        "def test_kind():\n    assert issubclass(calc.Wrong, ValueError)\n",
        "class Wrong(ValueError):\n    pass\n",
        targets=0,
        says=(_UNTRIED,),
    ),
    "a new exception that new code raises": _step(
        "def test_raises():\n    with pytest.raises(calc.Wrong):\n        calc.divide(1, 0)\n",
        "class Wrong(ValueError):\n    pass\n\n\n"
        "def divide(a, b):\n    if not b:\n        raise Wrong\n    return a / b\n",
    ),
    "a new type": _step(
        "def test_kind():\n    assert isinstance(calc.Point(), calc.Point)\n",
        "class Point:\n    pass\n",
        targets=0,
        says=(_UNTRIED,),
    ),
    "a new enum": _step(
        "def test_color():\n    assert calc.Color('red').name == 'RED'\n",
        "import enum\n\n\nclass Color(enum.Enum):\n    RED = 'red'\n",
    ),
    "a new decorator": _step(
        "def test_twice():\n    @calc.twice\n    def one():\n        return 1\n\n    assert one() == 2\n",
        "def twice(function):\n    return lambda: 2 * function()\n",
    ),
    "a new constant": _step(
        "def test_limit():\n    assert calc.LIMIT == 3\n", "LIMIT = 3\n", targets=0, says=(_UNTRIED,)
    ),
    "a new class without functions of its own": _step(
        "def test_point():\n    assert calc.Point(1).x == 1\n",
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Point:\n    x: int\n",
    ),
    "a lambda, and a function of a library": _step(
        "def test_sub():\n    assert calc.sub(5, 3) == 2\n\n\ndef test_mul():\n    assert calc.mul(5, 3) == 15\n",
        "from operator import mul\n\nsub = lambda a, b: a - b\n",
        before=f"def sub(a, b):\n{_STUB}\n\ndef mul(a, b):\n{_STUB}",
        targets=2,
    ),
    "a command that ends well": _step(
        "def test_runs():\n    import subprocess, sys\n\n"
        "    subprocess.run([sys.executable, '-m', 'calc'], check=True)\n",
        "if __name__ == '__main__':\n    print(2)\n",
        before="import sys\n\nif __name__ == '__main__':\n    sys.exit(1)\n",
        targets=0,
        says=(_RAISES_NOTHING,),
    ),
    "a command, and what it prints": _step(
        "def test_prints():\n    import subprocess, sys\n\n"
        "    assert subprocess.check_output([sys.executable, '-m', 'calc']).strip() == b'2'\n",
        "if __name__ == '__main__':\n    print(2)\n",
        before="import sys\n\nif __name__ == '__main__':\n    sys.exit(1)\n",
        targets=0,
        says=(_UNTRIED,),
    ),
    "a context that suppresses": _step(
        "def test_goes_on():\n    with calc.Ignoring():\n        {}['x']\n",
        f"{_IGNORING}        return True\n",
        before=f"{_IGNORING}        return False\n",
        targets=0,
        says=(_RAISES_NOTHING,),
    ),
    "a codec that is registered": _step("def test_mirror():\n    assert 'ab'.encode('mirror') == b'ba'\n", _CODEC),
    "a test that was skipped in RED": Twin(
        red={
            "pytest.ini": INI,
            _FILE: "import pytest\n\nimport calc\n\n\ndef test_double():\n    assert calc.double(2) == 4\n\n\n"
            "def test_more():\n    more = pytest.importorskip('more')\n    assert more.triple(2) == 6\n",
            "calc.py": "def double(number):\n    return number\n",
        },
        green={
            "calc.py": "def double(number):\n    return 2 * number\n",
            "more.py": "def triple(number):\n    return 3 * number\n",
        },
        says=("triple can do nothing, and no target notices: check what it returns or changes",),
    ),
    "a registry that grows": _step(
        _ROWS,
        _RULES.format(rules=["a", "b", "c"], answer="name.upper()"),
        before=_RULES.format(rules=["a", "b"], answer="name"),
    ),
    "a profile of hypothesis": Twin(
        red={
            "pytest.ini": INI,
            "conftest.py": f"{_PROFILES}settings.load_profile('dev')\n",
            _FILE: f"import calc\n{_PROPERTY}",
            "calc.py": "def double(number):\n    return number\n",
        },
        green={"calc.py": "def double(number):\n    return number + number\n"},
    ),
}
