"""Make invalid documents out of valid ones: the places where parsers break, on purpose."""

from __future__ import annotations

from hypothesis import strategies as st

#: What parsers stumble over, beside random bytes.
ODD = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\n", b"\t"),
    *(b"null", b"true", b"-1", b"1e999", b"NaN", b"-Infinity", b"9" * 40, b"9" * 5000, b"0.1", b'""', b"[]", b"{}"),
    *(b"&a", b"*a", b"<<: *a", b"!!python/object:os.system", b"%YAML 9.9", b"---\n", b"? ", b"| ", b"'", b'"', b": "),
    *(
        b"(" * 50,
        b"[" * 60,
        b"{" * 60,
        b"NOT " * 50,
        b'{"a":' * 60,
        b"AND",
        b"in [",
        b"==",
        b"---END",
    ),
)


@st.composite
def mutated(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Return a valid document after one to four changes."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 1, 2, 5, 20, 200])))
        how = draw(st.sampled_from(["odd", "bytes", "cut", "twice", "elsewhere"]))
        part = data[start:end]
        if how == "odd":
            part = draw(st.sampled_from(ODD))
        elif how == "bytes":
            part = draw(st.binary(max_size=6))
        elif how == "cut":
            part = b""
        elif how == "twice":
            part = part * 2
        else:
            other = draw(st.sampled_from(seeds))
            place = draw(st.integers(0, len(other)))
            part = other[place : place + 30]
        data = data[:start] + part + data[end:]
    return data


def anything(seeds: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """Return bytes, text and damaged documents; mostly the last, for they get furthest."""
    texts = st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return mutated(seeds) | mutated(seeds) | mutated(seeds) | texts | st.binary(max_size=80)
