"""Run the benchmarks and write RESULTS.md.

    python benchmarks/run.py                                      every part; takes hours with a transformer
    python benchmarks/run.py quality --sets scifact               one set; prints its tables
    python benchmarks/run.py quality --encoders hashing           without a model: minutes
    python benchmarks/run.py quality --recipes lexical hybrid ragdocs
    python benchmarks/run.py ablation --encoders granite          gain of each stage
    python benchmarks/run.py calibration --encoders granite       calibration of `confidence`
    python benchmarks/run.py speed --rifflux ../rifflux           with a peer's checkout in the same run
    python benchmarks/run.py vectors --sizes 10000 100000
    python benchmarks/run.py throughput
    python benchmarks/run.py code --corpora python                search one code base; prints its tables
    python benchmarks/run.py freshness --saves 20                 time from a save to an answer with it
    python benchmarks/run.py clients --soak-s 15                  many servers and commands on one index at once
    python benchmarks/run.py shared --clients 64 --seconds 60     many agents on one shared server
    python benchmarks/run.py history --repository ../django       index and search the commits of a repository
    python benchmarks/run.py history --made-up 100000             a whole synthetic history, with queries meanwhile
    python benchmarks/run.py agents --runs 3                      real agent programs, and what their models get
    python benchmarks/run.py crashes --kills 1000                 kills at random moments, and the state after them
    python benchmarks/run.py mixed --clones ../clones             search over all kinds, in whole repositories
    python benchmarks/run.py answers --repositories ../gin ../django
                                                                  length of answers, in both forms
    python benchmarks/run.py first --repositories ../gin ../httpx ../starlette
                                                                  first answers, and questions during encoding
    python benchmarks/run.py definitions --languages ruby php     definitions compared with ctags
    python benchmarks/run.py against --before DIR --repositories DIR   two checkouts: build, answers, memory
    python benchmarks/run.py extraction --peers PYTHON            documents beside other extractors
    python benchmarks/run.py shape --before DIR       files, functions, imports, flows and sentences of the source

Scores, indexes, vectors and fetched corpora are stored in --work, so an interrupted run continues where it stopped.
Scores are measured again when the code or labels they depend on have changed. Each part updates its own section of
RESULTS.md, but only after a complete run; a selection of sets is only printed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

import ablation
import left_out
import quality
from code_search.corpora import PLANS
from definitions.listers import LISTERS
from dowse.encoders.choose import choose_encoder
from dowse.errors import DowseError
from extraction.section import FORMATS
from labelled.catalogue import SETS
from measuring import Bench, say
from report import RESULTS, Section, write_section
from variants import worth_ablating

PROJECT = Path(__file__).resolve().parents[1]


def main() -> int:
    os.environ["DOWSE_SHARE"] = "false"  # servers are measured one by one; what is about sharing says so
    os.environ["DOWSE_BACKGROUND"] = "false"  # nothing goes on behind what is measured
    parser = _parser()
    options = parser.parse_args()
    wanted = {
        "history": options.repository or options.made_up,
        "answers": options.repositories,
        "mixed": options.clones,
        "first": options.repositories,
        "against": options.before and options.repositories,
    }
    parts = options.parts or [it for it in PARTS if wanted.get(it, True)]
    if unknown := sorted(set(parts) - set(PARTS)):
        parser.error(f"unknown part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    if set(parts) - UNLABELLED:
        if not options.bench.is_dir():
            parser.error(f"no labelled sets in {options.bench}; pass their directory with --bench")
        options.encoders = _available(options.encoders, options.work)
    good = True
    for part in parts:
        say(f"--- {part}")
        section, whole, part_good = PARTS[part](options)
        command = _command(part)
        print(section.text(command), flush=True)
        if whole and not options.dry_run:
            write_section(section, command, options.results)
            say(f"{part}: written to {options.results}")
        good &= part_good
    return 0 if good else 1


Done = tuple[Section, bool, bool]
"""What was measured; whether nothing was left out of it; whether everything that is aimed at holds."""


def _quality(options: argparse.Namespace) -> Done:
    sets = [SETS[name] for name in options.sets]
    bench = Bench(options.bench, options.work, options.fresh)
    results = quality.measure(bench, sets, options.encoders, options.recipes)
    without = {it: left_out.measure(bench, sets, it) for it in options.left_out if it in options.encoders}
    section = quality.section(sets, options.encoders, options.recipes, results, without)
    found = quality.checks(sets, options.encoders, options.recipes, results)
    return section, set(options.sets) == set(SETS), not any(it.holds is False for it in found)


def _ablation(options: argparse.Namespace) -> Done:
    sets = [SETS[name].sampled(options.questions) for name in options.sets]
    bench = Bench(options.bench, options.work, options.fresh)
    rows = ablation.measure(bench, sets, options.encoders[0], options.ablate or worth_ablating())
    return ablation.section(sets, rows), set(options.sets) == set(SETS) and not options.ablate, True


def _calibration(options: argparse.Namespace) -> Done:
    import calibration

    wanted = [name for name in calibration.CALIBRATED if name in options.sets]
    bench = Bench(options.bench, options.work, options.fresh)
    measured = calibration.measure(bench, [SETS[name] for name in wanted], options.encoders)
    return measured, wanted == list(calibration.CALIBRATED), True


def _abstention(options: argparse.Namespace) -> Done:
    import abstention

    bench = Bench(options.bench, options.work, options.fresh)
    measured, good = abstention.measure(bench, [SETS[name] for name in options.sets], options.encoders)
    return measured, set(options.sets) == set(SETS), good


def _speed(options: argparse.Namespace) -> Done:
    import speed

    return speed.measure(options.chunks, options.work, options.rifflux), True, True


def _vectors(options: argparse.Namespace) -> Done:
    import vector_base
    import vectors

    return vectors.measure(options.sizes, vector_base.base_of(options.work)), True, True


def _throughput(options: argparse.Namespace) -> Done:
    import throughput

    return throughput.measure(options.bench, options.work, options.encoders), True, True


def _code(options: argparse.Namespace) -> Done:
    from code_search import section

    measured, good = section.measure([PLANS[name] for name in options.corpora], options.work, fresh=options.fresh)
    return measured, set(options.corpora) == set(PLANS), good


def _freshness(options: argparse.Namespace) -> Done:
    from following import section

    measured, good = section.freshness(options.work, count=options.saves, checkout_files=options.checkout)
    return measured, options.saves >= 100 and options.checkout >= 10_000, good


def _clients(options: argparse.Namespace) -> Done:
    from following import section

    measured, good = section.clients(options.work, seconds=options.soak_s)
    return measured, options.soak_s >= 60, good


def _shared(options: argparse.Namespace) -> Done:
    import shared

    measured, good = shared.measure(options.work, clients=options.clients, seconds=options.seconds)
    return measured, options.clients >= 64 and options.seconds >= 60, good


def _history(options: argparse.Namespace) -> Done:
    from histories import section, whole_section

    if options.made_up:
        measured, good = whole_section.measure_whole(options.made_up, options.repository, options.work)
        return measured, True, good
    if options.repository is None:
        raise SystemExit("history needs a repository with 10,000 commits or more; pass it with --repository")
    encoders = _available(options.encoders, options.work)
    measured, good = section.measure(options.repository, options.commits, encoders, options.work)
    return measured, True, good


def _crashes(options: argparse.Namespace) -> Done:
    from crashes import section

    return section.measure(options.kills, options.seed), True, True


def _agents(options: argparse.Namespace) -> Done:
    from agents import section

    measured, good = section.measure(options.project, options.work, runs=options.runs, busy=options.busy)
    return measured, options.runs >= 10 and options.busy >= 8, good


def _answers(options: argparse.Namespace) -> Done:
    import answers

    if not options.repositories:
        raise SystemExit("answers needs repositories; pass some with --repositories")
    measured, good = answers.measure(options.repositories, options.work, options.seed)
    return measured, len(options.repositories) >= 3, good


def _first(options: argparse.Namespace) -> Done:
    import first_answers

    if not options.repositories:
        raise SystemExit("first needs repositories; pass some with --repositories, the largest last")
    measured, good = first_answers.measure(options.repositories, options.work)
    return measured, len(options.repositories) >= 3, good


def _mixed(options: argparse.Namespace) -> Done:
    import mixed

    if not options.clones:
        raise SystemExit("mixed needs clones with their history; pass their directory with --clones")
    return mixed.measure(options.bench, options.clones, options.work, options.encoder)


def _against(options: argparse.Namespace) -> Done:
    import against

    if options.before is None or not options.repositories:
        raise SystemExit("against needs another checkout (--before) and a repository to index (--repositories)")
    measured, good = against.measure(options.before, PROJECT, options.repositories[0])
    return measured, True, good


def _extraction(options: argparse.Namespace) -> Done:
    from extraction import section

    if not (options.bench / "doc_extract").is_dir():
        raise SystemExit(f"there is no doc_extract in {options.bench}; say where it is with --bench")
    measured, good = section.measure(options.bench, options.peers, options.formats)
    return measured, list(options.formats) == list(section.FORMATS), good


def _shape(options: argparse.Namespace) -> Done:
    import shape

    return shape.measure(PROJECT, options.before), options.before is None, True


def _definitions(options: argparse.Namespace) -> Done:
    from definitions import section

    measured, good = section.measure(options.languages, options.work)
    return measured, set(options.languages) == set(LISTERS), good


PARTS: dict[str, Callable[[argparse.Namespace], Done]] = {
    "quality": _quality,
    "ablation": _ablation,
    "calibration": _calibration,
    "abstention": _abstention,
    "speed": _speed,
    "vectors": _vectors,
    "throughput": _throughput,
    "code": _code,
    "freshness": _freshness,
    "clients": _clients,
    "agents": _agents,
    "shared": _shared,
    "crashes": _crashes,
    "history": _history,
    "answers": _answers,
    "first": _first,
    "mixed": _mixed,
    "definitions": _definitions,
    "extraction": _extraction,
    "shape": _shape,
    "against": _against,
}
UNLABELLED = {
    "code",
    "freshness",
    "clients",
    "agents",
    "shared",
    "crashes",
    "history",
    "answers",
    "first",
    "definitions",
    "extraction",
    "shape",
    "against",
}
"""What needs no labelled sets."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (default: all)")
    add("--bench", type=Path, default=PROJECT.parent / "shared" / "bench", help="directory of the labelled sets")
    work = Path(platformdirs.user_cache_dir("dowse-benchmarks"))
    add("--work", type=Path, default=work, help=f"directory for reusable data (default: {work})")
    add("--results", type=Path, default=RESULTS, help="results file to update")
    add("--dry-run", action="store_true", help="print the results, but do not write them")
    add("--fresh", action="store_true", help="repeat measurements that are already stored")
    labelled = parser.add_argument_group("quality and ablation")
    add = labelled.add_argument
    add("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=f"of {', '.join(SETS)}")
    add(
        "--encoders", nargs="+", default=["granite", "hashing", "static"], metavar="NAME",
        help="encoders, skipped if not installed; ablation uses the first (default: granite hashing static)",
    )  # fmt: skip
    recipes = ["lexical", "semantic", "hybrid", "auto"]
    add("--recipes", nargs="+", default=recipes, metavar="NAME", help=f"for quality (default: {' '.join(recipes)})")
    add(
        "--left-out",
        nargs="*",
        default=["granite"],
        metavar="NAME",
        help="encoders for the leave-one-out choice of constants, for quality (default: granite)",
    )
    add(
        "--questions",
        type=int,
        default=40,
        metavar="N",
        help="questions per set for the ablation (0 = all; default: 40)",
    )
    add("--ablate", nargs="+", metavar="NAME", help="recipes to ablate (default: all that fuse)")
    rest = parser.add_argument_group("speed and vectors")
    add = rest.add_argument
    add("--chunks", type=int, nargs="+", default=[10_000, 100_000], help="corpus sizes in chunks")
    add("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="numbers of vectors")
    add("--rifflux", type=Path, help="a checkout of Rifflux to measure in the same run")
    code = parser.add_argument_group("code")
    code.add_argument(
        "--corpora", nargs="+", choices=PLANS, default=list(PLANS), metavar="NAME", help=f"of {', '.join(PLANS)}"
    )
    add = parser.add_argument_group("freshness and clients").add_argument
    add("--saves", type=int, default=100, metavar="N", help="number of saves (default: 100)")
    add(
        "--checkout",
        type=int,
        default=10_000,
        metavar="N",
        help="files changed by a checkout (default: 10000)",
    )
    add("--soak-s", type=float, default=60.0, metavar="N", help="seconds that many clients run at once (default: 60)")
    add = parser.add_argument_group("agents").add_argument
    add("--project", type=Path, default=PROJECT, metavar="PATH", help="the project the agents ask about")
    add("--runs", type=int, default=10, metavar="N", help="runs of each agent program (default: 10)")
    add("--busy", type=int, default=8, metavar="N", help="number of busy processes next to them (default: 8)")
    add = parser.add_argument_group("shared").add_argument
    add("--clients", type=int, default=64, metavar="N", help="number of agents (default: 64)")
    add("--seconds", type=float, default=60.0, metavar="N", help="seconds to run (default: 60)")
    crashes = parser.add_argument_group("crashes")
    crashes.add_argument("--kills", type=int, default=1000, metavar="N", help="kills in all scenarios together")
    crashes.add_argument("--seed", type=int, default=1, metavar="N", help="seed of corpora, kill times and questions")
    add = parser.add_argument_group("history").add_argument
    add("--repository", type=Path, metavar="PATH", help="repository to index, bare or not")
    add("--made-up", type=int, metavar="N", help="index a synthetic history of N commits, and all of --repository")
    add("--commits", type=int, default=10_000, metavar="N", help="number of its newest commits (default: 10000)")
    add = parser.add_argument_group("answers and first").add_argument
    add(
        "--repositories",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="repositories to query; the section is written for three or more",
    )
    add = parser.add_argument_group("mixed").add_argument
    add("--clones", type=Path, metavar="DIR", help="directory with clones of the labelled repositories")
    add("--encoder", default="static", metavar="NAME", help="encoder for the semantic part (default: static)")
    add = parser.add_argument_group("shape and against").add_argument
    add("--before", type=Path, metavar="PATH", help="another checkout to compare with")
    add = parser.add_argument_group("extraction").add_argument
    add("--formats", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="NAME", help=f"of {', '.join(FORMATS)}")
    add("--peers", type=Path, metavar="PYTHON", help="an interpreter with markitdown and kreuzberg, if not this one")
    add = parser.add_argument_group("definitions").add_argument
    add(
        "--languages",
        nargs="+",
        choices=LISTERS,
        default=list(LISTERS),
        metavar="NAME",
        help=f"of {', '.join(LISTERS)}",
    )
    return parser


def _available(encoders: Sequence[str], work: Path) -> list[str]:
    found = []
    for name in encoders:
        try:
            if name != "none":
                choose_encoder(name, cache_dir=work / "data" / "models")
            found.append(name)
        except DowseError as error:
            say(f"encoder {name} is skipped: {error}")
    if not found:
        raise SystemExit(f"none of the encoders {', '.join(encoders)} is available")
    return found


def _command(part: str) -> str:
    """What makes this part again: the part with the flags that were given, without places of this machine."""
    flags: list[str] = []
    given = iter(sys.argv[1:])
    for word in given:
        if word.split("=")[0] in ("--work", "--bench", "--results"):
            if "=" not in word:
                next(given, None)
        elif word not in (*PARTS, "--dry-run", "--fresh"):
            flags.append(Path(word).name if "/" in word else word)
    return shlex.join(["python", "benchmarks/run.py", part, *flags])


if __name__ == "__main__":
    sys.exit(main())
