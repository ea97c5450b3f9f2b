"""Source packages of the distribution this runs on, fetched by name without touching the machine's own settings."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from pathlib import Path

from labelled.fetch import unpack

SOURCES = Path("/etc/apt/sources.list.d/debian.sources")


def source_package(name: str, folder: Path, sources: Path = SOURCES) -> Path:
    """The directory of a package's upstream sources; downloads below `folder` what is not there yet."""
    place = folder / "src" / name
    if not place.is_dir():
        aside = folder / "src" / f"{name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        unpack(_archive(name, folder / "archives" / name, sources), aside)
        aside.rename(place)
    return place


def _archive(name: str, folder: Path, sources: Path) -> Path:
    """apt compares what it fetches with the digests in the distribution's signed lists."""
    if not list(folder.glob("*.orig.tar.*")):
        if shutil.which("apt-get") is None or not sources.is_file():
            raise SystemExit(f"{name} is a Debian source package: put its unpacked sources at {folder.parents[1]}/src")
        print(f"fetching the source package {name}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        apt = private_apt(folder.parent / "apt", sources)  # the lists of all packages are fetched once
        environment = os.environ | {"LC_ALL": "C"}
        for command in (["update"], ["source", "--download-only", "--only-source", name]):
            subprocess.run([*apt, *command], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return next(path for path in sorted(folder.glob("*.orig.tar.*")) if path.suffix != ".asc")


def private_apt(folder: Path, sources: Path) -> list[str]:
    """A command that knows the source packages of the machine's own archives and keeps everything in `folder`."""
    for part in ("sources", "lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "sources" / sources.name).write_text(of_source_packages(sources.read_text(encoding="utf-8")))
    options = {
        "Dir::Etc::sourcelist": os.devnull,
        "Dir::Etc::sourceparts": folder / "sources",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": getpass.getuser(),  # another user could not write here
    }
    return ["apt-get", "--quiet", *(f"--option={name}={value}" for name, value in options.items())]


def of_source_packages(text: str) -> str:
    """A deb822 list of archives with the source packages instead of the built ones."""
    return "".join(
        "Types: deb-src\n" if line.lower().startswith("types:") else line for line in text.splitlines(keepends=True)
    )
