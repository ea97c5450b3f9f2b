"""What a preprocessor would take out before a compiler of C or C++ reads a file, as blanks of the same length.

The grammar does not know what macros stand for. `class EXPORT Foo`, `int ZEXPORT f(x)` and functions with one head for
each branch of an `#if` would hide what they define. Names and text are still read from the file as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dowse.ingest.extract.code.source import blank

# All patterns run over every file: they begin with a letter or the end of a line, which is looked for quickly.
_CAPITALS: Final = rb"[A-Z][A-Z0-9_]++\b"
_ARGUMENTS: Final = rb"[ \t]*\((?:[^()\n]|\([^()\n]*\)){0,300}\)"
_MACRO: Final = rb"(?:" + _CAPITALS + rb"(?:" + _ARGUMENTS + rb")?|\w+_(?:EXPORT|API|export)\b)"
_WORD: Final = rb"[A-Za-z_]\w*+"
_PART: Final = (
    rb"(?:" + _CAPITALS + _ARGUMENTS + rb"|" + _WORD + rb"(?:[ \t]*\([ \t]*\d[\d, \t]*\))?)"
)  # printflike(1, 2)
_PARTS: Final = re.compile(_PART)
# Words in a row, then the name of a function or a variable; those of C stand at the beginning of a line.
_HEAD: Final = (
    rb"((?:" + _PART + rb"[\s*&]++){2,8})"
    rb"(?=(?:" + _WORD + rb"::){0,4}~?" + _WORD + rb"\s*+([(=;\[])|\(" + _WORD + rb"\)\s*\()"
)
_HEADS: Final = (re.compile(rb"\n" + _HEAD), re.compile(rb"\n[ \t]*+" + _HEAD))
# `int (f)(int a)`: the brackets keep a macro of that name away.
_BRACKETED: Final = re.compile(rb"\n((?:" + _WORD + rb"[\s*]++){1,8}+)(\()" + _WORD + rb"(\))\s*+\(")
# `int f() LOCKS_EXCLUDED(mutex) {`
_TRAILING: Final = re.compile(
    rb"\)\s++(?:(?:const|override|noexcept|final)\s+)*(" + _CAPITALS + _ARGUMENTS + rb")\s*+(?=[;{])"
)
_TYPES: Final = frozenset(
    b"void bool char short int long float double signed unsigned wchar_t auto _Bool __int64".split()
)
_TAGS: Final = frozenset((b"struct", b"class", b"union", b"enum", b"typename"))
_SPECIFIERS: Final = frozenset(
    b"static extern inline const volatile register virtual explicit friend constexpr consteval constinit mutable "
    b"thread_local restrict __restrict __inline __inline__ _Noreturn __extension__ _Thread_local __thread".split()
)
_OTHER_STATEMENTS: Final = frozenset(
    b"return else goto case default typedef using new delete throw operator template namespace sizeof co_return "
    b"co_await co_yield co_await if while for do switch break continue public private protected import export module "
    b"concept requires and or not asm __asm__ __asm try catch".split()
)
_LINKAGE: Final = re.compile(rb"API|EXPORT|EXTERN|INLINE|INTERNAL|DECL|HIDDEN|LOCAL|PUBLIC|PRIVATE|STATIC")
_DIRECTIVE: Final = re.compile(rb"\n[ \t]*+(#[ \t]*(if|elif|else|endif)\w*\b(?:\\\n|[^\n])*+)")
_NO_CODE: Final = re.compile(
    rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.{0,2000}?\*/|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_COMMENT: Final = re.compile(rb"/\*.{0,2000}?\*/", re.DOTALL)
_DEFINE: Final = re.compile(rb"#[ \t]*define\b(?=(?:\\\n|[^\n]){0,5000}/\*)(?:\\\n|[^\n])*+")
_CONTINUED: Final = re.compile(rb"(?:(?!\\\n)[^\n])+")  # without the mark that a macro goes on
_GOES_ON: Final = re.compile(rb"[ \t]*(?!/[/*])[^\s]")
# What is blanked where one of the words in front of it stands in the file.
_PATTERNS: Final = (
    # `class EXPORT Foo : public Bar {`; `struct stat x{}` and `enum KIND x : 3` are none.
    *(
        (
            (word,),
            re.compile(
                word + rb"\s++((?:" + _MACRO + rb"\s++){1,4})(?=(?!final\b)[A-Za-z_][\w:]*+\s*+(?:<[^;{}]{0,200}>\s*)?"
                rb"(?:final\s*)?(?:\{|:\s*[A-Za-z_]))"
            ),
        )
        for word in (b"class", b"struct", b"union", b"enum")
    ),
    ((b"\nstatic",), re.compile(rb"\n(static)[ \t]+" + _CAPITALS + _ARGUMENTS + rb"[ \t]*(?=\n)(?!\s*\{)")),
    # `int f PARAMS((int a));`
    (
        (b"PARAMS(", b"PARAMS (", b"PROTO(", b"PROTO (", b"ARGS(", b"ARGS_(", b"P((", b"P ((", b"OF((", b"OF (("),
        re.compile(
            rb"(?<=[\w)])[ \t]++(_*+(?:PARAMS|PROTO|PROTOTYPE|P|OF|ARGS|ANSI_ARGS)_*[ \t]*\()"
            rb"(?=\()\((?:[^()]|\((?:[^()]|\([^()]*\))*\)){0,1000}\)\s*(\))"
        ),
    ),
    # A type among the arguments of a macro: `DEFINE_FLAG(int, size, 8);`
    (
        (b"(",),
        re.compile(
            rb"\n[ \t]*+" + _CAPITALS + rb"\(((?:[^()\n]*,)?\s*(?:(?:const|unsigned|signed|long|short|struct)\s+)*"
            rb"(?:int|char|bool|void|unsigned|short|long|float|double|\w+_t)[\s*&]*,(?:[^()]|\([^()]*\)){0,1000})\)"
        ),
    ),
    # A macro on a line of its own in front of what no type stands before.
    (
        (b"\n",),
        re.compile(
            rb"\n[ \t]*+("
            + _CAPITALS
            + rb")[ \t]*+(?=\n\s*(?:template|class|struct|namespace|using|typedef|enum|static|"
            rb"extern|inline|constexpr|virtual|explicit)\b)"
        ),
    ),
    # The same in front of `public:`.
    (
        (b"public", b"private", b"protected"),
        re.compile(rb"\n[ \t]*+(" + _MACRO + rb")\s++(?=(?:public|protected|private)\b[^\n;(){}]*:)"),
    ),
    # Qt's words for members.
    (
        (b"Q_", b"signals"),
        re.compile(rb"\n[ \t]*+(Q_(?:OBJECT|GADGET|NAMESPACE|SIGNALS[ \t]*:)|signals[ \t]*:)"),
    ),
    (
        (b"Q_SLOTS", b"slots"),
        re.compile(rb"\n[ \t]*+(?:public|protected|private)[ \t]+(Q_SLOTS|slots)[ \t]*:"),
    ),
    ((b"Q_",), re.compile(rb"\n[ \t]*+(Q_[A-Z_]+" + _ARGUMENTS + rb")[ \t]*(?=\n)(?!\s*\{)")),
)
_MOST_DROPPED: Final = 8_000  # a longer branch is no other way to write a few lines
_LOOKED_BACK: Final = 500
_DEEPEST: Final = 20  # `#if`s in each other, which are all looked at
_BODY: Final = re.compile(rb"\s*\{")


def without_macros(data: bytes, *, members: bool) -> bytes:
    """The same length and lines; blanks stand for what a parser can not place, with `members` also in classes."""
    if b"\r" in data:
        data = data.replace(b"\\\r\n", b" \\\n").replace(b"\r\n", b" \n")
    changed = bytearray(b"\n%b\n" % data)  # every line begins behind the end of one
    for found in _DEFINE.finditer(bytes(changed)) if b"/*" in data else ():
        _blank_comments(changed, found)
    _keep_first_branches(changed)
    for words, pattern in _PATTERNS:
        for found in list(pattern.finditer(changed)) if any(word in changed for word in words) else ():
            for group in range(1, pattern.groups + 1):
                blank(changed, *found.span(group))
    for found in list(_TRAILING.finditer(changed)):
        if _ends_a_head(changed, found.start()):
            blank(changed, *found.span(1))
    for found in list(_BRACKETED.finditer(changed)):
        if _OTHER_STATEMENTS.isdisjoint(found[1].split()):
            blank(changed, *found.span(2))
            blank(changed, *found.span(3))
    for found in list(_HEADS[members].finditer(changed)):
        for start, end in _superfluous(found):
            blank(changed, start, end)
    return bytes(changed[1:-1])


def _blank_comments(data: bytearray, define: re.Match[bytes]) -> None:
    """The grammar ends a macro where a comment begins, though it goes on behind it."""
    for comment in _COMMENT.finditer(define[0]):
        if _GOES_ON.match(define[0], comment.end()):
            for line in _CONTINUED.finditer(comment[0]):
                start = define.start() + comment.start()
                blank(data, start + line.start(), start + line.end())


def _ends_a_head(data: bytearray, end: int) -> bool:
    """Whether a type, a name and a list of parameters are what stands in front, rather than `if (a)`."""
    start = max(data.rfind(mark, max(0, end - 1_000), end) for mark in (b";", b"{", b"}", b":\n")) + 1
    words = _PARTS.findall(data[start:end].partition(b"(")[0])
    return len(words) > 1 and _OTHER_STATEMENTS.isdisjoint(words)


def _superfluous(head: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Of several words in front of a name one is its type, or none where it is built in: the others are macros."""
    parts = list(_PARTS.finditer(head[1]))
    words = [part[0] for part in parts]
    if not _OTHER_STATEMENTS.isdisjoint(words):
        return
    if head[2] and head[2] != b"(" and any(word.endswith(b")") for word in words):
        return  # `F(x) int x;`: the parameters of a function in the old style
    plain: list[re.Match[bytes]] = []
    typed = b"explicit" in words  # as only constructors are
    for number, part in enumerate(parts):
        if part[0] in _TYPES or (number and words[number - 1] in _TAGS):
            typed = True
        elif part[0] not in _TAGS and part[0] not in _SPECIFIERS:
            plain.append(part)
    if not typed and plain:
        plain.remove(_type_among(plain))
    for part in plain:
        yield head.start(1) + part.start(), head.start(1) + part.end()


def _type_among(plain: list[re.Match[bytes]]) -> re.Match[bytes]:
    """The last one that is not written in capitals, else the first one that does not sound like a linkage."""
    named = [part for part in plain if not part[0].isupper() and not part[0].endswith(b")")]
    if named:
        return named[-1]
    return next((part for part in plain if not _LINKAGE.search(part[0])), plain[-1])


def _keep_first_branches(data: bytearray) -> None:
    """Where an `#if` cuts through a statement, only its first branch is read; inner ones are looked at first."""
    opened: list[list[tuple[int, int]]] = []
    for line in _DIRECTIVE.finditer(bytes(data)):
        if line[2] == b"if":
            opened.append([line.span(1)])
        elif opened:
            opened[-1].append(line.span(1))
            if line[2] == b"endif":
                lines = opened.pop()
                if len(opened) < _DEEPEST:
                    _keep_first_branch(data, lines)


def _keep_first_branch(data: bytearray, lines: list[tuple[int, int]]) -> None:
    (start, first), (_, end) = lines[0], lines[-1]
    if end - lines[1][0] > _MOST_DROPPED:
        return
    if any(_is_open(data, one[1], other[0]) for one, other in pairwise(lines)):
        if b"__cplusplus" in data[start:first]:
            blank(data, start, end)
            return
    elif all(_ends_in_a_comma(data, one[1], other[0]) for one, other in pairwise(lines)):
        for line in lines:  # parts of a list: all of them are read
            blank(data, *line)
        return
    elif not _is_inside(data, start, end):
        return
    blank(data, start, first)
    blank(data, lines[1][0], end)


def _ends_in_a_comma(data: bytearray, start: int, end: int) -> bool:
    return _NO_CODE.sub(b"", data[max(start, end - _LOOKED_BACK) : end]).rstrip().endswith(b",")


def _is_open(data: bytearray, start: int, end: int) -> bool:
    """Whether braces are opened here that are closed elsewhere, or the other way round."""
    if data.count(b"{", start, end) == data.count(b"}", start, end) or end - start > _MOST_DROPPED:
        return False
    code = _NO_CODE.sub(b"", data[start:end])
    return code.count(b"{") != code.count(b"}")


def _is_inside(data: bytearray, start: int, end: int) -> bool:
    """Whether what stands in front is not over yet, or the body of a function follows."""
    before = _COMMENT.sub(b"", data[max(0, start - _LOOKED_BACK) : start]).rstrip()
    line = before[before.rfind(b"\n") + 1 :].lstrip()
    if line.startswith((b"#", b"//", b"*")):
        return False
    return before.endswith((b"=", b"[", b"(")) or _BODY.match(data, end) is not None
