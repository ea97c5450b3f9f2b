"""Which extractor reads which file: the one table, by suffix and by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.code.blocks import text_blocks
from dowse.ingest.extract.code.languages import language_of
from dowse.ingest.extract.commit import extract_commit
from dowse.ingest.extract.markdown import extract_markdown
from dowse.ingest.extract.memory import extract_memory
from dowse.ingest.extract.plain import extract_plain
from dowse.ingest.extract.sql import extract_sql
from dowse.model import NO_FACETS, Extract, Item
from dowse.text.decode import decode

Extractor: TypeAlias = Callable[[Item, bytes], Extract]

# Raise it when any extractor's output changes: what is indexed is then extracted again.
EXTRACTION_VERSION: Final = 7

_MARKDOWN: Final = "md markdown mdx mkd"
_SQL: Final = "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc"
_PLAIN: Final = "txt text rst adoc asciidoc org tex log"
# Names without a suffix that are code, as hidden files are; others, such as README, are prose.
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
_DOCUMENTS: Final = (
    "pdf djvu epub mobi azw3 doc docx dotx xls xlsx xlsm xlsb ppt pptx pptm odt ods odp pages numbers"
    " vsd vsdx dwg skp blend fbx glb 3ds sketch fig"
)


def _suffixes(*lists: str) -> frozenset[str]:
    return frozenset(f".{suffix}" for each in lists for suffix in each.split())


# Not worth opening: a walker can leave these out without looking for a zero byte in them.
KNOWN_BINARY_SUFFIXES: Final = _suffixes(_IMAGES, _SOUND_AND_FILM, _ARCHIVES, _FONTS, _MACHINE_CODE, _DATA, _DOCUMENTS)
_BY_NAME: Final = frozenset(_CODE_NAMES.split())
_BY_SUFFIX: Final[dict[str, Extractor]] = {
    **dict.fromkeys(_suffixes(_MARKDOWN), extract_markdown),
    **dict.fromkeys(_suffixes(_PLAIN), extract_plain),
    **dict.fromkeys(_suffixes(_SQL), extract_sql),
    "": extract_plain,
}


# What is told by where an item comes from, not by its path.
_BY_FORM: Final[dict[str, Extractor]] = {"commit": extract_commit, "memory": extract_memory}


def extractor_for(path: str) -> Extractor:
    """How the file at `path` is read; what is neither Markdown nor plain text is code."""
    name = PurePosixPath(path)
    if not name.suffix and (name.name.startswith(".") or name.name.lower() in _BY_NAME):
        return extract_code
    return _BY_SUFFIX.get(name.suffix.lower(), extract_code)


def extract(item: Item, data: bytes) -> Extract:
    return (_BY_FORM.get(item.form) or extractor_for(item.path))(item, data)


def is_parsed(item: Item) -> bool:
    """Whether a parser reads it: those in C can crash and hang, and all take their time, so they run in processes of
    their own."""
    if item.form:
        return False
    extractor = extractor_for(item.path)
    return extractor is extract_sql or (extractor is extract_code and language_of(item.path) is not None)


def extract_unparsed(item: Item, data: bytes) -> Extract:
    """The file as text, for when its extractor failed."""
    if item.form or extractor_for(item.path) not in (extract_code, extract_sql):
        return extract_plain(item, data)
    text, language = decode(data), language_of(item.path)
    facets = {"language": language.name} if language else NO_FACETS
    return Extract("code", PurePosixPath(item.path).name, text, text_blocks(text), facets=facets)
