"""Bytes become lines however they are cut, and no line is kept that is too long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dowse.server.sharing.proxy import LineBuffer

LIMIT = 8


@given(st.lists(st.text("ab\n", max_size=12).map(str.encode)))
def test_however_it_is_cut_the_lines_are_the_same(pieces: list[bytes]) -> None:
    lines = LineBuffer(LIMIT)
    found = [line for piece in pieces for line in lines.add_bytes(piece)]
    found.append(lines.rest())
    whole = b"".join(pieces).split(b"\n")
    expected = [part + b"\n" for part in whole[:-1]] + [whole[-1]]
    assert found == [None if len(line) > LIMIT else line for line in expected]


def test_a_long_line_is_dropped_while_it_comes() -> None:
    lines = LineBuffer(LIMIT)
    for _ in range(1000):
        assert lines.add_bytes(b"x" * 5) == []
        assert sum(map(len, lines._parts)) <= LIMIT
    assert lines.add_bytes(b"y\nshort\n") == [None, b"short\n"]
