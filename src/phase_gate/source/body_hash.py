"""Hash the meaning of code.

Pure: syntax trees in, text out. Positions, comments, quotes, parentheses and docstrings do not count. The hash is the
same under every supported Python; `tests/data/body-hashes.json` has examples that check this.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Collection, Sequence

from phase_gate.source.syntax_names import Definition

#: 80 bits. Two of 100,000 tests share a hash by accident once in 10^14 suites, and the 2^80 tries are out of reach
#: that forging one takes; the inventory is a third as large as with whole digests.
HASH_LENGTH = 20

#: Fields without meaning: how a name is used follows from its context, `u""` is `""`, `(x): int` is `x: int`,
#: and type comments are comments.
SILENT_FIELDS = frozenset(("ctx", "kind", "simple", "type_comment", "type_ignores"))


def hash_body(node: ast.AST, omitted: Collection[int] = frozenset()) -> str:
    """Return a hash of what the node means. A function's own name is left out, so that clones are alike.

    :param omitted: nodes inside, by id(), that do not count.
    """
    tokens, mentions_docstrings = _spell(node, omitted, with_docstrings=False)
    if mentions_docstrings:  # then they are data, and a changed one is a changed test
        tokens, _ = _spell(node, omitted, with_docstrings=True)
    return digest(b"".join(tokens))


def hash_alternatives(nodes: Sequence[ast.AST], omitted: Collection[int] = frozenset()) -> str:
    """Return one hash for all the definitions that a name may have, each in its own branch."""
    hashes = [hash_body(node, omitted) for node in nodes]
    # It is unknown which branch is taken, so a change in either counts.
    return hashes[0] if len(hashes) == 1 else digest(" ".join(hashes).encode())


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:HASH_LENGTH]


def take(hashes: Counter[str], wanted: str) -> bool:
    """Take one hash out, and return whether it was there."""
    hashes[wanted] -= 1
    return hashes[wanted] >= 0


def _spell(root: ast.AST, omitted: Collection[int], *, with_docstrings: bool) -> tuple[list[bytes], bool]:
    """Spell the tree out, and return whether it mentions docstrings. Without recursion: a sum may have 5,000 terms."""
    tokens: list[bytes] = []
    mentions_docstrings = False
    pending: list[ast.AST | bytes] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, bytes):
            tokens.append(node)
            continue
        if isinstance(node, ast.JoinedStr):
            node = _join_constants(node)
        spelled: list[ast.AST | bytes] = [b"(" + type(node).__name__.encode()]
        for field in node._fields:
            value = getattr(node, field, None)
            if field in SILENT_FIELDS or (field == "name" and node is root):
                continue
            if field == "is_lazy" and not value:  # of imports, since Python 3.15: a plain one is what it was
                continue
            if isinstance(value, list):
                items = value[1:] if field == "body" and not with_docstrings and _has_docstring(node) else value
                items = [item for item in items if id(item) not in omitted]
                if not items:  # Python 3.12 brought fields that 3.11 does not have; they are mostly empty
                    continue
                spelled += [b"." + field.encode() + b"[", *map(_spell_item, items), b"]"]
            elif value is not None or isinstance(node, ast.Constant):
                spelled += [b"." + field.encode(), _spell_item(value)]
                mentions_docstrings |= field in ("id", "attr") and value in ("__doc__", "getdoc")
        spelled.append(b")")
        pending.extend(reversed(spelled))
    return tokens, mentions_docstrings


def _has_docstring(node: ast.AST) -> bool:
    return isinstance(node, Definition | ast.Module) and ast.get_docstring(node, clean=False) is not None


def _join_constants(node: ast.JoinedStr) -> ast.JoinedStr | ast.Constant:
    """Return the f-string as all versions would have it: 3.12 has empty constants in it, and splits others."""
    parts: list[ast.expr] = []
    for part in node.values:
        match part, parts:
            case ast.Constant(value=""), _:
                continue
            case ast.Constant(value=str(text)), [*_, ast.Constant(value=str(before))]:
                parts[-1] = ast.Constant(before + text)
            case _:
                parts.append(part)
    match parts:
        case []:
            return ast.Constant("")
        case [ast.Constant() as only]:
            return only
    return ast.JoinedStr(parts)


def _spell_item(value: object) -> ast.AST | bytes:
    """Return nodes as they are, and other values with their type and length: 1, True, 1.0 and "1" differ."""
    match value:
        case ast.AST():
            return value
        case bool() | None:
            text = repr(value).encode()
        case int():
            text = b"%x" % value  # decimal refuses more than 4,300 digits
        case float():
            text = value.hex().encode()  # tells -0.0 from 0.0, and knows inf and nan
        case complex():
            text = f"{value.real.hex()} {value.imag.hex()}".encode()
        case str():
            text = value.encode("utf-8", "surrogatepass")
        case bytes():
            text = value
        case _:
            text = repr(value).encode()  # Ellipsis
    return b"<%s %d:%s>" % (type(value).__name__.encode(), len(text), text)
