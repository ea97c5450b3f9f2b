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
    found = TWO.commit_names([1])
    assert found.qualified == ("Space.Token", "Space.Token.name", "Space.Token.ttl")
    assert found.unambiguous == (
        "Space.Token", "Token", "Space.Token.name", "Token.name", "Space.Token.ttl", "Token.ttl", "ttl",
    )  # fmt: skip
    assert found.ambiguous == ("name",)
    assert TWO.commit_names([0]).ambiguous == ()


def test_names_are_found_by_their_ends() -> None:
    assert (TWO.find_by_suffix("name"), TWO.find_by_suffix("Token.name"), TWO.find_by_suffix("Space::Other->name")) == (
        [2, 5],
        [2],
        [5],
    )
    assert (TWO.find_by_suffix("Else.name"), TWO.find_by_suffix(""), TWO.find_by_suffix(".")) == ([], [], [])
    assert made(("1.2 Setup", None), ("2 Setup", 0)).find_by_suffix("1.2 Setup") == [0]


def test_of_what_is_lost_only_names_that_nothing_has_now_are_sure() -> None:
    lost = TWO.removed_commit_names("Gone.name")
    assert (lost.qualified, lost.unambiguous, lost.ambiguous) == (("Gone.name",), ("Gone.name",), ("name",))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(-2, 8)), max_size=8))
def test_parents_that_make_no_sense_are_none(symbols: list[tuple[str, int | None]]) -> None:
    chains = made(*symbols)
    assert [it[-1] for it in chains.all] == [name for name, _ in symbols]
    for at, chain in enumerate(chains.all):
        found = chains.commit_names(chains.find_exact(chain))
        assert at in chains.find_by_suffix(".".join(chain)) and ".".join(chain) in found.qualified
        assert set(found.qualified) <= {*found.unambiguous, *found.ambiguous}
