"""What was measured of histories, as tables."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.encoders.choose import choose_encoder
from dowse.engine import Engine
from histories.asking import COMMITS, ROUNDS, Asked, Question, ask, questions
from histories.building import TRANSFORMERS, WORDS_ONLY, Built, build, index_in, opened, settings_of
from histories.peers import ask_git
from report import Section, table
from timing import ms, p, times

COMMITS_PER_S = 500
SEARCH_MS = 5.0
_SEED = 1


@dataclass(frozen=True, slots=True)
class Searched:
    """How quickly one recipe answered; `encoder_ms` is what the encoder takes for each of the questions."""

    recipe: str
    encoder: str
    asked: Sequence[Asked]
    encoder_ms: Sequence[float] = ()

    @property
    def encoder_p50(self) -> float:
        return p(self.encoder_ms, 50) if self.encoder_ms else 0.0


def measure(repository: Path, commits: int, encoders: Sequence[str], work: Path) -> tuple[Section, bool]:
    """The section, and whether it is as quick as it is meant to be."""
    work.mkdir(parents=True, exist_ok=True)
    models = work / "data" / "models"
    with tempfile.TemporaryDirectory(dir=work, prefix="history-") as folder:
        places = {name: Path(folder, name).resolve() for name in (WORDS_ONLY, *encoders)}
        built = [build(repository, name, commits, place, models) for name, place in places.items()]
        with opened(places[WORDS_ONLY]) as store:
            asked = questions(store.catalog, _SEED)
            names = [it.path for it in store.catalog.select(COMMITS)]
        searched = [_searched(it, places[it.encoder], asked, models) for it in built if it.encoder not in TRANSFORMERS]
        peers = ask_git(repository, names, asked)
    good = built[0].words_rate >= COMMITS_PER_S and all(map(_is_quick, searched))
    return Section("history", "History", lines(repository.resolve(), built, searched, peers)), good


def _searched(built: Built, place: Path, asked: Sequence[Question], models: Path) -> Searched:
    recipe = "lexical" if built.encoder == WORDS_ONLY else "hybrid"
    with Engine(settings_of(built.encoder, built.commits, place), index_in(place), create=False) as engine:
        found = ask(engine, asked, recipe)
    encoder_ms: list[float] = []
    if built.encoder != WORDS_ONLY:
        encoder = choose_encoder(built.encoder, cache_dir=models).encoder
        encoder.encode(["warm"])
        encoder_ms = [ms(encoder.encode, [it.text]) for it in asked]
    return Searched(recipe, built.encoder, found, encoder_ms)


def _is_quick(searched: Searched) -> bool:
    return all(p(it.ms, 50) - searched.encoder_p50 <= SEARCH_MS for it in searched.asked)


def lines(
    repository: Path, built: Sequence[Built], searched: Sequence[Searched], peers: Mapping[str, Sequence[float]]
) -> list[str]:
    first = built[0]
    return [
        f"`{_name(repository)}`: {first.commits:,} commits, {first.chunks:,} chunks, {first.links:,} links. Diffs are "
        f"cut at 200 lines. Words and links are indexed first, vectors of messages and diff beginnings later. Targets: "
        f"{COMMITS_PER_S} commits/s without vectors, and a search p50 of at most {SEARCH_MS:g} ms without the encoder.",
        "",
        "### Indexing",
        "",
        *table(["encoder", "commits", "words, commits/s", "vectors", "with vectors, commits/s", "bytes/commit"],
               [_built(it) for it in built]),
        "",
        "### Bytes per commit",
        "",
        *table(["part", *(it.encoder for it in built)], _parts(built)),
        "",
        f"### Searching: {len(searched[0].asked[0].ms)} questions with words of titles, fastest of {ROUNDS} rounds",
        "",
        *table(["recipe", "encoder", "among", "p50", "p95", "encoder time", "commit found"],
               [_asked(each, it) for each in searched for it in each.asked]),
        "",
        *table(["the same with git", "p50", "ratio to a lexical search"], _peers(searched[0], peers)),
    ]  # fmt: skip


def _name(repository: Path) -> str:
    """What people call it: mirrors often lie in a directory of their name."""
    return repository.parent.name if repository.name in ("repo", ".git") else repository.name


def _built(it: Built) -> list[str]:
    sample = " (a sample)" if it.encoder in TRANSFORMERS else ""
    rate = f"{it.rate:,.1f}" if it.vectors else ""
    name = f"{it.encoder}{sample}"
    return [name, f"{it.commits:,}", f"{it.words_rate:,.0f}", f"{it.vectors:,}", rate, f"{it.bytes_per_commit:,.0f}"]


def _parts(built: Sequence[Built]) -> list[list[str]]:
    return [
        [part, *(f"{it.bytes_by_part[part] / max(it.commits, 1):,.0f}" for it in built)]
        for part in built[0].bytes_by_part
    ]


def _asked(searched: Searched, it: Asked) -> list[str]:
    encoder = f"{searched.encoder_p50:.2f} ms" if searched.encoder_ms else ""
    figures = [f"{p(it.ms, 50):.2f} ms", f"{p(it.ms, 95):.2f} ms", encoder, f"{it.found / len(it.ms):.0%}"]
    return [searched.recipe, searched.encoder, it.way, *figures]


def _peers(ours: Searched, peers: Mapping[str, Sequence[float]]) -> list[list[str]]:
    lexical = p(ours.asked[0].ms, 50)
    return [[name, f"{p(found, 50):,.0f} ms", times(p(found, 50), lexical)] for name, found in peers.items()]
