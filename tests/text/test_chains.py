"""What definitions are called, alone and with those around them, and what commits may call them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dowse.model import Symbol
from dowse.text.code_names import QualifiedNames, name_spellings


def made(*symbols: tuple[str, int | None]) -> QualifiedNames:
    return QualifiedNames.of([Symbol(name, "class", 1, 2, parent=parent) for name, parent in symbols])


TWO = made(("Space", None), ("Token", 0), ("name", 1), ("ttl", 1), ("Other", 0), ("name", 4))


def test_with_all_names_around_with_one_with_none() -> None:
    assert name_spellings(("A", "B", "C")) == ["A.B.C", "B.C", "C"]
    assert name_spellings(("A", "B")) == ["A.B", "B"]
    assert name_spellings(("A",)) == ["A"]
    assert name_spellings(()) == []


def test_what_another_may_be_called_is_doubtful() -> None:
    found = TWO.spelt([1])
    assert found.whole == ("Space.Token", "Space.Token.name", "Space.Token.ttl")
    assert found.sure == (
        "Space.Token", "Token", "Space.Token.name", "Token.name", "Space.Token.ttl", "Token.ttl", "ttl",
    )  # fmt: skip
    assert found.doubtful == ("name",)
    assert TWO.spelt([0]).doubtful == ()


def test_names_are_found_by_their_ends() -> None:
    assert (TWO.named("name"), TWO.named("Token.name"), TWO.named("Space::Other->name")) == ([2, 5], [2], [5])
    assert (TWO.named("Else.name"), TWO.named(""), TWO.named(".")) == ([], [], [])
    assert made(("1.2 Setup", None), ("2 Setup", 0)).named("1.2 Setup") == [0]


def test_of_what_is_lost_only_names_that_nothing_has_now_are_sure() -> None:
    lost = TWO.lost("Gone.name")
    assert (lost.whole, lost.sure, lost.doubtful) == (("Gone.name",), ("Gone.name",), ("name",))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(-2, 8)), max_size=8))
def test_parents_that_make_no_sense_are_none(symbols: list[tuple[str, int | None]]) -> None:
    chains = made(*symbols)
    assert [it[-1] for it in chains.all] == [name for name, _ in symbols]
    for at, chain in enumerate(chains.all):
        found = chains.spelt(chains.whole(chain))
        assert at in chains.named(".".join(chain)) and ".".join(chain) in found.whole
        assert set(found.whole) <= {*found.sure, *found.doubtful}
