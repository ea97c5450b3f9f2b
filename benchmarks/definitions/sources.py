"""The files that are read: of each language, from several Debian source packages, so that no one style decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

from code_search.debian import source_package

MOST_FILES: Final = 400  # of a language; packages take turns
LEAST_FILES: Final = 200
_MOST_BYTES: Final = 400_000
_MOST_CHARS_A_LINE: Final = 200


@dataclass(frozen=True, slots=True)
class Packages:
    """Source packages by name, each with the folder of it that is read."""

    suffixes: tuple[str, ...]
    packages: tuple[tuple[str, str], ...]


def _of(suffixes: str, packages: str) -> Packages:
    parts = (name.partition("/") for name in packages.split())
    return Packages(tuple(suffixes.split()), tuple((name, inner) for name, _, inner in parts))


PACKAGES: Final[Mapping[str, Packages]] = {
    "csharp": _of(".cs", "keepass2 dbus-sharp thrift flatbuffers zeroc-ice"),
    "go": _of(".go", "prometheus gh fzf thrift zabbix lxd"),
    "typescript": _of(
        ".ts", "node-typescript/src node-webpack node-chart.js node-regexpp flatbuffers thrift zeroc-ice"
    ),
    "python": _of(".py", "cloud-init jinja2 thrift flatbuffers googletest zeroc-ice"),
    "cpp": _of(".cc .cpp .cxx .hpp .hh", "leveldb fmtlib re2 spdlog abseil googletest poco icinga2"),
    "kotlin": _of(".kt", "kotlin/compiler kotlin/libraries kotlin/idea flatbuffers"),
    "rust": _of(".rs", "rust-clap rust-syntect cargo flatbuffers thrift"),
    "ruby": _of(".rb", "ruby-sidekiq ruby-aws-sdk ruby-devise ruby-hashie ruby-nokogiri ruby-rspec-rails thrift"),
    "php": _of(".php", "doctrine php-monolog php-laravel-framework php-twig phpunit wordpress zabbix"),
    "javascript": _of(
        ".js", "node-express jquery node-webpack/lib uglify-js/lib node-chart.js/src gjs wordpress zabbix thrift"
    ),
    "java": _of(".java", "libcommons-lang3-java junit4 guava-libraries antlr4 commons-io libspring-java"),
    "c": _of(".c .h", "lua5.4 tmux zlib redis curl git"),
    "shell": _of(".sh .bash", "dracut git btrfs-progs lxd freeradius redis bash fzf gawk"),
    "sql": _of(".sql", "kamailio freeradius zabbix icinga2 sql-ledger pdns libspring-java"),
    "scala": _of(".scala", "scala/src/library scala/src/compiler scala/src/reflect scala/test gradle"),
    "swift": _of(".swift", "thrift flatbuffers zeroc-ice"),
}


def files_of(language: str, work: Path) -> list[Path]:
    """In the order of their digests, so that a larger number adds to the files of a smaller one."""
    plan = PACKAGES[language]
    turns = zip_longest(*(_files(name, inner, plan.suffixes, work) for name, inner in plan.packages))
    found = [path for path in chain.from_iterable(turns) if path is not None][:MOST_FILES]
    if len(found) < LEAST_FILES:
        raise SystemExit(f"{language} has {len(found)} files, which is below {LEAST_FILES}; add packages to {__file__}")
    return found


def _files(name: str, inner: str, suffixes: tuple[str, ...], work: Path) -> Iterator[Path]:
    root = source_package(name, work / "corpora")
    found = [path for path in (root / inner).rglob("*") if path.suffix in suffixes and _was_written(path)]
    yield from sorted(found, key=lambda path: sha256(str(path.relative_to(root)).encode()).digest())


def _was_written(path: Path) -> bool:
    """Not by a program: neither large nor on long lines."""
    if not path.is_file() or path.is_symlink() or not 0 < path.stat().st_size <= _MOST_BYTES:
        return False
    data = path.read_bytes()
    return len(data) <= _MOST_CHARS_A_LINE * (1 + data.count(b"\n"))
