"""What `prove --base` makes of pull requests: a row a state, honest ones first. Real repositories, real runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.proof.base import prove_change
from phase_gate.proof.experiment import closes
from phase_gate.proof.show import proof_text
from phase_gate.values import Value
from tests.proof.stories import write
from tests.proof.test_base import begin, change_of

pytestmark = pytest.mark.processes

Files = Mapping[str, str | None]

PRICE = "def with_tax(net):\n    return net\n\n\ndef rebate(net):\n    return net / 2\n"
TAXED = "def with_tax(net):\n    return net * 2\n\n\ndef rebate(net):\n    return net / 2\n"
#: Behaves as before.
RESHAPED = "def with_tax(net):\n    return net\n\n\ndef rebate(net):\n    half = net / 2\n    return half\n"

HEAD = "import price\n\n\n"
OLD = f"{HEAD}def test_rebate():\n    assert price.rebate(4) == 2\n"
NEEDS = "\n\ndef test_tax():\n    assert price.with_tax(1) == 2\n"
GUARDS = "\n\ndef test_nothing_costs_nothing():\n    assert price.with_tax(0) == 0\n"
ALWAYS = "\n\ndef test_always():\n    assert price.with_tax(1) == 2 or True\n"
BASE = {"price.py": PRICE, "test_price.py": OLD}


class Row(Value):
    """A change, and what is to be said about it."""

    files: Files
    #: Whether it is refused by default, and with --strict.
    default: bool
    strict: bool
    #: What the answer has in it.
    said: tuple[str, ...]
    base: Mapping[str, str] = BASE
    #: Runs of pytest, where nothing has to be tried again, or alone.
    starts: int | None = None


HONEST = {
    "docs-only": Row(
        files={"README.md": "# Prices\n"}, default=False, strict=False, said=("no test is new or changed since main",)
    ),
    "refactoring": Row(
        files={"price.py": RESHAPED}, default=False, strict=False, said=("no test is new or changed since main",)
    ),
    "only-tests": Row(
        files={"test_price.py": OLD + GUARDS},
        default=False,
        strict=False,
        said=("only tests changed since main: 1 passes, and there is nothing to compare it with",),
    ),
    "only-tests-and-what-no-test-asks-for": Row(
        files={
            "test_price.py": OLD + GUARDS,
            "price.py": f"# Prices are net.\n{PRICE}",
            "setup.py": "version = 2\n",
            ".github/workflows/ci.yml": "on: push\n",
        },
        default=False,
        strict=False,
        said=("only tests changed since main",),
    ),
    "all-need-it": Row(
        files={"price.py": TAXED, "test_price.py": OLD + NEEDS},
        starts=4,
        default=False,
        strict=False,
        said=("1 of 1 test needs the change (",),
    ),
    "an-old-test-follows-the-change": Row(
        files={"price.py": TAXED, "test_price.py": OLD.replace("rebate(4)", "rebate(price.with_tax(2))")},
        default=False,
        strict=False,
        said=("1 of 1 test needs the change (",),
    ),
    "a-guard": Row(
        files={"price.py": TAXED, "test_price.py": OLD + NEEDS + GUARDS},
        default=False,
        strict=True,
        said=("1 of 2 tests needs the change; 1 passes without it (",),
    ),
    "a-negative-twin": Row(
        files={
            "price.py": TAXED,
            "test_price.py": f"import pytest\n{OLD}{NEEDS}\n\ndef test_no_text():\n"
            "    with pytest.raises(TypeError):\n        price.rebate('4')\n",
        },
        default=False,
        strict=True,
        said=("1 of 2 tests needs the change; 1 passes without it (",),
    ),
    "a-rewording-beside-what-needs-it": Row(
        files={"price.py": TAXED, "test_price.py": OLD.replace("rebate(4)", "rebate(net=4)") + NEEDS},
        default=False,
        strict=True,
        said=("? test_price.py::test_rebate", "changed without need", "1 of 2 tests needs the change"),
    ),
    "a-rewording-in-a-refactoring": Row(
        files={"price.py": RESHAPED, "test_price.py": OLD.replace("rebate(4)", "rebate(net=4)")},
        default=False,
        strict=True,
        said=("? test_price.py::test_rebate", "changed without need"),
    ),
    "the-base-can't-be-tried": Row(
        base={**BASE, "price.py": f"import no_such_package\n{PRICE}"},
        files={"price.py": TAXED, "test_price.py": OLD + NEEDS},
        default=False,
        strict=True,
        said=("? test_price.py::test_tax", "no module 'no_such_package'", "0 of 1 test needs the change; 1 is unknown"),
    ),
    "marked-as-guards": Row(
        files={
            "price.py": TAXED,
            "test_price.py": f"import pytest\n{OLD}\n\n@pytest.mark.passes_already('free'){GUARDS[1:]}",
        },
        default=False,
        strict=False,
        said=("test_price.py::test_nothing_costs_nothing: marked as passing already",),
    ),
}

REFUSED = {
    "all-pass-without": Row(
        files={"price.py": TAXED, "test_price.py": OLD + GUARDS},
        default=True,
        strict=True,
        said=("- test_price.py::test_nothing_costs_nothing", "0 of 1 test needs the change; 1 passes without it"),
    ),
    "a-new-one-and-a-reworded-one-pass-without": Row(
        files={"price.py": TAXED, "test_price.py": OLD.replace("rebate(4)", "rebate(net=4)") + GUARDS},
        default=True,
        strict=True,
        said=("0 of 2 tests need the change; 2 pass without it",),
    ),
    "fails-with": Row(
        files={
            "price.py": TAXED,
            "test_price.py": OLD + NEEDS + NEEDS.replace("_tax():", "_more():").replace("2", "3"),
        },
        default=True,
        strict=True,
        said=("- test_price.py::test_more", "1 of 2 tests needs the change; 1 fails with it"),
    ),
    "a-check-that-can't-fail": Row(
        files={"price.py": TAXED, "test_price.py": OLD + NEEDS + ALWAYS},
        default=True,
        strict=True,
        said=(
            "- test_price.py::test_always",
            "test_price.py:13 can't fail: expecting 1000009 instead of 2 passes as well",
            "1 of 2 tests needs the change; 1 can't fail",
            "next: mend the check that can't fail: test_price.py:13",
        ),
    ),
    "only-tests-and-one-can't-fail": Row(
        files={"test_price.py": OLD + GUARDS + ALWAYS},
        default=True,
        strict=True,
        said=("- test_price.py::test_always", "1 passes"),
    ),
    "only-tests-and-one-fails": Row(
        files={"test_price.py": OLD + NEEDS},
        default=True,
        strict=True,
        said=("- test_price.py::test_tax", "fails with the change"),
    ),
}

NAMED = {
    "an-old-test-that-holds-for-both": Row(
        files={
            "price.py": TAXED,
            "test_price.py": OLD.replace("rebate(4) == 2", "with_tax(4) in (4, 8)") + NEEDS,
        },
        base={**BASE, "test_price.py": OLD.replace("rebate(4) == 2", "with_tax(4) == 4")},
        default=False,
        strict=True,
        said=("? test_price.py::test_rebate", "its base version fails with the change"),
    ),
    "two-outcomes": Row(
        files={
            "price.py": TAXED,
            "test_price.py": f"import pathlib\n{OLD}\n\ndef test_fails_once():\n"
            "    path = pathlib.Path(price.__file__).parent.parent / 'seen'\n"
            "    is_seen = path.exists()\n    path.touch()\n    assert is_seen\n",
        },
        default=False,
        strict=True,
        said=("? test_price.py::test_fails_once", "two outcomes"),
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in {**HONEST, **REFUSED, **NAMED}.items()])
def test_what_becomes_of_a_pull_request(tmp_path: Path, row: Row) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    begin(root, row.base)
    write(root, row.files)
    change = change_of(root)
    proof = prove_change(change, seconds=240.0)
    text = proof_text(proof, change)
    assert [said for said in row.said if said not in text] == [], text
    assert not proof.problem
    assert row.starts in (proof.starts, None), text
    assert (closes(proof, required=False), closes(proof, required=True)) == (row.default, row.strict), text
