"""An agent without a model: it reads its prompt, writes files, and needs three tries."""

import subprocess
import sys
from pathlib import Path

TESTS = '''\
from slug import slug


def test_words_are_joined():
    assert slug("Phase Gate") == "phase-gate"


def test_signs_are_dropped():
    assert slug("Done, really?") == "done-really"
'''

HASTY = '''\
def slug(title):
    return title.lower().replace(" ", "-")
'''

RIGHT = '''\
import re


def slug(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
'''

DONE = """\
All tasks are completed.

EXIT_STATUS: COMPLETE
EXIT_REASON: slug works
REMAINING_WORK: none
"""


def main():
    prompt = sys.stdin.read()
    if "# RED:" in prompt:
        Path("test_slug.py").write_text(TESTS)
        signal("both tests fail, because there is no slug")
    elif "test_signs_are_dropped" in prompt:
        Path("slug.py").write_text(RIGHT)  # the prompt says which test fails, and why
        signal("both tests pass")
    else:
        Path("slug.py").write_text(HASTY)
        signal("slug is written")
        print(DONE)


def signal(reason):
    """Give the signal of Gate 2. The drive takes it, runs the tests, and decides."""
    subprocess.run(["phase-gate", "signal", "--reason", reason], check=False)


if __name__ == "__main__":
    main()
