"""An agent that was written down: what it does to the code, and what it says."""

import subprocess
from pathlib import Path

HASTY = """\
I looked at slug.py. All tasks are completed, and it is ready for review.

EXIT_STATUS: COMPLETE
EXIT_REASON: slug works
REMAINING_WORK: none
"""

HELPED = """\
A sign that is no letter has to go. I run the tests now.

EXIT_STATUS: CONTINUE
EXIT_REASON: the signs are dropped, and nobody has tested it
REMAINING_WORK: run the tests
"""

HONEST = """\
Both tests pass. All tasks are completed.

EXIT_STATUS: COMPLETE
EXIT_REASON: words are joined, signs are dropped
REMAINING_WORK: none
"""

RIGHT = '''\
import re


def slug(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
'''


def main():
    """Do what the agent does in this turn, and print what it says."""
    code = Path("slug.py")
    if not Path("advice.txt").exists():
        with code.open("a") as stream:
            stream.write("# tried again\n")
        print(HASTY)
    elif code.read_text() != RIGHT:
        code.write_text(RIGHT)
        print(HELPED)
    else:
        subprocess.run(["phase-gate", "signal", "--reason", "both tests pass"], check=False, stdout=subprocess.DEVNULL)
        print(HONEST)


if __name__ == "__main__":
    main()
