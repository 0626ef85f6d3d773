"""Suites to measure on: trivial passing tests, so that every microsecond beside them shows."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

#: Tests in one file; a file more costs an import, and real suites have about so many.
PER_FILE = 50


def write_suite(folder: Path, tests: int) -> Path:
    """Write a suite of `tests` trivial tests into the folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "counting.py").write_text(COUNTING, encoding="utf-8")
    (folder / ".gitignore").write_text(".phase-gate/\n.user-state/\nout.*\nassets/\n.claude/\n", encoding="utf-8")
    for number, start in enumerate(range(0, tests, PER_FILE)):
        rows = [f"def test_{index}():\n    assert True\n" for index in range(start, min(start + PER_FILE, tests))]
        (folder / f"test_{number}.py").write_text("\n\n".join(rows), encoding="utf-8")
    return folder


_WORDS = ("def", "return", "self", "name", "value", "import", "for", "in", "if", "class", "None", "result", "path")


def write_tree(folder: Path, files: int, *, size: int = 8192) -> Path:
    """Write a project of so many files, a hundred in a folder, committed to git."""
    chance = random.Random(0)
    # As dense as sources are: two of a kind beside each other would be compressed to nothing.
    block = " ".join(f"{chance.choice(_WORDS)}_{chance.randrange(300)}" for _ in range(20_000)).encode()
    for number in range(files):
        path = folder / f"part_{number // 100}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        begin = number * 97 % (len(block) - size)
        path.write_bytes(f"# {number}\n#".encode() + block[begin : begin + size])
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


#: The floor: a plugin that only counts.
COUNTING = """\
count = 0


def pytest_runtest_logreport(report):
    global count
    if report.when == "call" and report.outcome == "passed":
        count += 1
"""


#: Modules of the realistic project, and tests of each.
MODULES, TESTS_EACH = 12, 20

_MODULE = '''\
"""Orders of warehouse {number}."""

RATES = {{"food": 7, "books": 7, "tools": 19, "toys": 19}}


class Order:
    def __init__(self, kind, amount, price):
        if kind not in RATES:
            raise ValueError(kind)
        self.kind = kind
        self.amount = amount
        self.price = price

    @property
    def net(self):
        return self.amount * self.price

    def tax(self):
        rate = RATES[self.kind]
        return (self.net * rate + 50) // 100


def parse(text):
    orders = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        kind, amount, price = line.split(",")
        orders.append(Order(kind.strip(), int(amount), int(price)))
    return orders


def total(orders, discount=0):
    net = tax = 0
    for order in orders:
        net += order.net
        tax += order.tax()
    if discount:
        net -= net * discount // 100
        tax -= tax * discount // 100
    return net + tax


def by_kind(orders):
    found = {{}}
    for order in orders:
        if order.kind in found:
            found[order.kind] += order.net
        else:
            found[order.kind] = order.net
    return sorted(found.items())


def pack(orders, limit):
    boxes = [[]]
    weight = 0
    for order in sorted(orders, key=lambda each: -each.amount):
        if weight + order.amount > limit and boxes[-1]:
            boxes.append([])
            weight = 0
        boxes[-1].append(order)
        weight += order.amount
    return boxes
'''
_TESTS = """\
import pytest
from shop.orders_{number} import by_kind, pack, parse, total

TEXT = "\\n".join(
    f"{{kind}}, {{amount}}, {{amount * 13 % 7 + 1}}"
    for amount in range(1, 11)
    for kind in ("food", "books", "tools", "toys")
)


@pytest.fixture
def orders():
    return parse("# all of them\\n" + TEXT)


@pytest.mark.parametrize("discount", range({each}))
def test_orders_{number}(orders, discount):
    assert total(orders, discount) <= total(orders)
    assert len(by_kind(orders)) == 4
    assert sum(map(len, pack(orders, 12 + discount))) == len(orders)
"""


def write_shop(folder: Path, *, old: int) -> Path:
    """Write a project as people have them: modules with loops and branches; a test runs some thousand of their lines.

    :param old: how many of its modules are there; what the others are for is only tested by now.
    """
    (folder / "shop").mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    (folder / "shop" / "__init__.py").write_text("", encoding="utf-8")
    for number in range(MODULES):
        tests = _TESTS.format(number=number, each=TESTS_EACH)
        (folder / f"test_orders_{number}.py").write_text(tests, encoding="utf-8")
        if number < old:
            module = folder / "shop" / f"orders_{number}.py"
            module.write_text(_MODULE.format(number=number), encoding="utf-8")
    return folder
