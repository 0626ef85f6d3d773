"""Small accidents in diagrams: a line or a character lost, doubled, or in the wrong place. The same ones each time."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

_STRAY = "{}[]()\"';:-><|=#%&@!\\`,.x1 \n"
_BEHIND = (" oops", " ->", " {", ' "', " (", " ]", "::", " %% c")


def mutate(texts: Iterable[str], total: int, seed: int = 1) -> Iterator[str]:
    """Yield as many damaged diagrams."""
    chance = random.Random(seed)
    originals = sorted(texts)
    for _ in range(total):
        yield _damage(chance.choice(originals), chance)


def _damage(text: str, chance: random.Random) -> str:
    kind = chance.randrange(8)
    place = chance.randrange(len(text))
    if kind == 0:
        return text[:place] + text[place + 1 :]
    if kind == 1:
        return text[:place] + chance.choice(_STRAY) + text[place:]
    if kind == 2:
        return text[:place]
    if kind in (3, 4):
        words = re.findall(r"\s+|\w+|\W", text)
        first, second = chance.randrange(len(words)), chance.randrange(len(words))
        if kind == 3:
            del words[first]
        else:
            words[first], words[second] = words[second], words[first]
        return "".join(words)
    lines = text.split("\n")
    number = chance.randrange(len(lines))
    if kind == 5:
        del lines[number]
    elif kind == 6:
        lines.insert(number, chance.choice(lines))
    else:
        lines[number] += chance.choice(_BEHIND)
    return "\n".join(lines)
