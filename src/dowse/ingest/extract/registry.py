"""The extractor for each kind and suffix of file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.code.extract import split_unparsed_code
from dowse.ingest.extract.code.languages import language_of
from dowse.ingest.extract.commit import extract_commit
from dowse.ingest.extract.documents import DOCUMENT_SUFFIXES, extract_document
from dowse.ingest.extract.markdown import extract_markdown
from dowse.ingest.extract.memory import extract_memory
from dowse.ingest.extract.plain import extract_plain
from dowse.ingest.extract.sql import extract_sql
from dowse.model import NO_FACETS, Extraction, Item
from dowse.text.unicode import decode

Extractor: TypeAlias = Callable[[Item, bytes], Extraction]

# Increment when the output of any extractor changes: indexed files are then extracted again.
EXTRACTION_VERSION: Final = 8

_MARKDOWN: Final = "md markdown mdx mkd"
_SQL: Final = "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc"
_PLAIN: Final = "txt text rst adoc asciidoc org tex log"
# File names without a suffix that are code. Hidden files are code too; other names, like README, are prose.
_CODE_NAMES: Final = (
    "brewfile build caddyfile containerfile dockerfile gemfile gnumakefile jenkinsfile justfile"
    " makefile podfile procfile rakefile snakefile vagrantfile workspace"
)

_IMAGES: Final = (
    "png jpg jpeg jpe jfif gif bmp ico icns webp avif heic heif jxl tif tiff psd xcf ai eps cr2 nef dng tga dds"
)
_SOUND_AND_FILM: Final = (
    "mp3 m4a aac ogg oga opus flac wav aif aiff wma mid midi mp4 m4v mkv webm mov avi wmv flv mpg mpeg 3gp swf"
)
_ARCHIVES: Final = (
    "zip gz tgz bz2 tbz2 xz txz zst lz lz4 lzma br 7z rar tar cab iso dmg img jar war ear apk ipa aar"
    " deb rpm whl egg nupkg vsix xpi crx vmdk vdi qcow2"
)
_FONTS: Final = "ttf otf ttc woff woff2 eot"
_MACHINE_CODE: Final = (
    "o obj a lib so dylib dll exe msi com class pyc pyo pyd wasm elf ko bc pdb ilk node beam rlib rmeta"
)
_DATA: Final = (
    "db db3 sqlite sqlite3 mdb accdb ldb sst npy npz pkl pickle parquet feather arrow orc avro h5 hdf5"
    " mat rds rdata onnx pt pth ckpt safetensors gguf tflite pb tfrecord bin mo p12 pfx jks keystore der"
    " gpg"
)
_OTHER_DOCUMENTS: Final = "djvu mobi azw3 doc ppt pages numbers vsd vsdx dwg skp blend fbx glb 3ds sketch fig"


def _suffixes(*lists: str) -> frozenset[str]:
    return frozenset(f".{suffix}" for each in lists for suffix in each.split())


# A walker skips these without opening them to look for a NUL byte.
KNOWN_BINARY_SUFFIXES: Final = (
    _suffixes(_IMAGES, _SOUND_AND_FILM, _ARCHIVES, _FONTS, _MACHINE_CODE, _DATA, _OTHER_DOCUMENTS) - DOCUMENT_SUFFIXES
)
_BY_NAME: Final = frozenset(_CODE_NAMES.split())
_BY_SUFFIX: Final[dict[str, Extractor]] = {
    **dict.fromkeys(_suffixes(_MARKDOWN), extract_markdown),
    **dict.fromkeys(_suffixes(_PLAIN), extract_plain),
    **dict.fromkeys(_suffixes(_SQL), extract_sql),
    **dict.fromkeys(DOCUMENT_SUFFIXES, extract_document),
    "": extract_plain,
}


# Chosen by the item's source, not by its path.
_BY_SOURCE: Final[dict[str, Extractor]] = {"commit": extract_commit, "memory": extract_memory}


def extractor_for(path: str) -> Extractor:
    """Return the extractor for `path`; everything but Markdown, plain text and SQL is code."""
    name = PurePosixPath(path)
    if not name.suffix and (name.name.startswith(".") or name.name.lower() in _BY_NAME):
        return extract_code
    return _BY_SUFFIX.get(name.suffix.lower(), extract_code)


def extract(item: Item, data: bytes) -> Extraction:
    return (_BY_SOURCE.get(item.source_kind) or extractor_for(item.path))(item, data)


def needs_parser(item: Item) -> bool:
    """Check whether a parser handles the item. Parsers run in worker processes: they are slow, and those in C can crash
    or hang."""
    if item.source_kind:
        return False
    extractor = extractor_for(item.path)
    return extractor in (extract_sql, extract_document) or (
        extractor is extract_code and language_of(item.path) is not None
    )


def extract_as_text(item: Item, data: bytes) -> Extraction:
    """Extract a file as plain text after its extractor failed."""
    if item.source_kind or extractor_for(item.path) not in (extract_code, extract_sql):
        return extract_plain(item, data)
    text, language = decode(data), language_of(item.path)
    facets = {"language": language.name} if language else NO_FACETS
    return Extraction("code", PurePosixPath(item.path).name, text, split_unparsed_code(text), facets=facets)
