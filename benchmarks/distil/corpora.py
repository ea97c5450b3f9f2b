"""The texts the static encoder is trained on: packages named here with their versions, downloaded, never committed.

None of them is in a set that the encoder is judged by, nor in a project whose files are.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WHEELS = (
    "aerosandbox==4.2.5", "aiohttp==3.10.10", "ansible-core==2.17.5", "apache-airflow==2.10.2", "astropy==6.1.4",
    "azure-storage-blob==12.23.1", "biopython==1.84", "bioregistry==0.11.20", "boto3==1.35.40", "botocore==1.35.40",
    "buildbot==4.1.0", "celery==5.4.0", "chemicals==1.2.0", "control==0.10.1", "cryptography==43.0.3",
    "dask==2024.9.1", "dipy==1.9.0", "distributed==2024.9.1", "fluids==1.0.26", "gensim==4.3.3",
    "google-cloud-aiplatform==1.70.0", "google-cloud-compute==1.20.0", "ht==1.0.6", "keras==3.6.0",
    "kubernetes==31.0.0", "langchain-core==0.3.12", "lifelines==0.29.0", "matplotlib==3.9.2", "MDAnalysis==2.7.0",
    "MetPy==1.6.3", "mitmproxy==11.0.0", "mlflow==2.17.0", "mne==1.8.0", "networkx==3.4.2", "nibabel==5.3.2",
    "nilearn==0.10.4", "nltk==3.9.1", "obspy==1.4.1", "openai==1.52.0", "pandas==2.2.3", "pyhpo==3.3.1",
    "pymc==5.17.0", "pytest==8.3.3", "pyvista==0.44.1", "qutip==5.0.4", "scanpy==1.10.3", "scikit-image==0.24.0",
    "scikit-learn==1.5.2", "scipy==1.14.1", "Scrapy==2.11.2", "simpy==4.1.1", "skyfield==1.49", "spacy==3.7.5",
    "Sphinx==8.0.2", "SQLAlchemy==2.0.36", "statsmodels==0.14.4", "sunpy==6.0.2", "sympy==1.13.3", "thermo==0.3.0",
    "torch-geometric==2.6.1", "tornado==6.4.1", "transformers==4.46.0", "Twisted==24.10.0", "xarray==2024.9.0",
)  # fmt: skip
# Debian bookworm.
DEBS = (
    "apache2-doc=2.4.71-1~deb12u1", "bash-doc=5.2.15-2", "debian-handbook=11.20220922", "debian-reference-en=2.100",
    "dict-foldoc=20230119-1", "dict-gcide=0.48.5+nmu2", "dict-jargon=4.4.7-3.1", "gimp-help-en=2.10.34-2",
    "git-doc=1:2.39.5-0+deb12u3", "golang-1.19-src=1.19.8-2", "libreoffice-help-en-us=4:7.4.7-1+deb12u14",
    "linux-doc-6.1=6.1.190-1", "maxima-doc=5.46.0-11", "nginx-doc=1.22.1-9+deb12u10",
    "node-lodash=4.17.21+dfsg+~cs8.31.198.20210220-9+deb12u1", "nodejs-doc=18.20.4+dfsg-1~deb12u3",
    "octave-doc=7.3.0-2", "postgresql-doc-15=15.20-0+deb12u1", "python-sqlalchemy-doc=1.4.46+ds1-1",
    "python3.11-doc=3.11.2-6+deb12u9", "r-bioc-go.db=3.16.0-1", "r-doc-html=4.2.2.20221110-2",
    "rust-src=1.63.0+dfsg1-2", "wordnet-base=1:3.0-37",
)  # fmt: skip
SHARED = (".py", ".go", ".rs", ".js", ".ts", ".html", ".md", "service-2.json.gz")
WHOLE = (".obo", ".noun", ".verb", ".adj", ".adv", ".dict.dz", "bioregistry.json", "GO.sqlite")
# So much of each package, in a random order of its files; dictionaries are read whole.
PACKAGE_BYTES = 3_000_000
FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class File:
    package: str
    path: str
    data: bytes


def download(directory: Path) -> None:
    """Whatever is not there yet."""
    directory.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--python-version", "3.11", "--dest", str(directory), *WHEELS], check=True)
    subprocess.run(["apt-get", "download", "--quiet", *DEBS], cwd=directory, check=True)


def files(directory: Path) -> Iterator[File]:
    """A share of every package, the same on every machine."""
    for archive in sorted(directory.iterdir()):
        is_deb = archive.suffix == ".deb"
        package = archive.name.split("_" if is_deb else "-")[0]
        left = PACKAGE_BYTES
        for path, data in sorted(_in_deb(archive) if is_deb else _in_wheel(archive), key=_shuffled):
            if path.endswith(WHOLE):
                yield File(package, path, data)
            elif left > 0:
                left -= len(data)
                yield File(package, path, data)


def _shuffled(member: tuple[str, bytes]) -> bytes:
    return hashlib.sha256(member[0].encode()).digest()


def _in_wheel(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if _wanted(info.filename, info.file_size):
                yield info.filename, opened.read(info)


def _in_deb(archive: Path) -> Iterator[tuple[str, bytes]]:
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as opened,
    ):
        for info in opened:
            if info.isfile() and _wanted(info.name, info.size):
                yield info.name, opened.extractfile(info).read()


def _wanted(path: str, size: int) -> bool:
    """Code, documentation and dictionaries; tests say little of what one would ask."""
    if path.endswith(WHOLE):
        return True
    return path.endswith(SHARED) and 0 < size < FILE_BYTES and "/test" not in path and _english(path)


def _english(path: str) -> bool:
    """One handbook comes in many languages."""
    return "debian-handbook" not in path or "/en-US/" in path
