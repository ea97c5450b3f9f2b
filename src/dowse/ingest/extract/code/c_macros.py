"""C and C++ macros that hide definitions from the parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dowse.ingest.extract.code.language import blank_out

# Every pattern runs over every file: each begins with a letter or a newline, which is fast to find.
_UPPERCASE_NAME: Final = rb"[A-Z][A-Z0-9_]++\b"
_ARGUMENTS: Final = rb"[ \t]*\((?:[^()\n]|\([^()\n]*\)){0,300}\)"
_MACRO: Final = rb"(?:" + _UPPERCASE_NAME + rb"(?:" + _ARGUMENTS + rb")?|\w+_(?:EXPORT|API|export)\b)"
_WORD: Final = rb"[A-Za-z_]\w*+"
_PART: Final = (
    rb"(?:" + _UPPERCASE_NAME + _ARGUMENTS + rb"|" + _WORD + rb"(?:[ \t]*\([ \t]*\d[\d, \t]*\))?)"
)  # also `printflike(1, 2)`
_PARTS: Final = re.compile(_PART)
# Consecutive words, then the name of a function or variable; in C only at the start of a line.
_HEAD: Final = (
    rb"((?:" + _PART + rb"[\s*&]++){2,8})"
    rb"(?=(?:" + _WORD + rb"::){0,4}~?" + _WORD + rb"\s*+([(=;\[])|\(" + _WORD + rb"\)\s*\()"
)
_HEADS: Final = (re.compile(rb"\n" + _HEAD), re.compile(rb"\n[ \t]*+" + _HEAD))
# `int (f)(int a)`: the parentheses prevent the expansion of a macro of that name.
_PARENTHESIZED_NAME: Final = re.compile(rb"\n((?:" + _WORD + rb"[\s*]++){1,8}+)(\()" + _WORD + rb"(\))\s*+\(")
# `int f() LOCKS_EXCLUDED(mutex) {`
_TRAILING_MACRO: Final = re.compile(
    rb"\)\s++(?:(?:const|override|noexcept|final)\s+)*(" + _UPPERCASE_NAME + _ARGUMENTS + rb")\s*+(?=[;{])"
)
_BUILTIN_TYPES: Final = frozenset(
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
_NON_CODE: Final = re.compile(
    rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.{0,2000}?\*/|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_COMMENT: Final = re.compile(rb"/\*.{0,2000}?\*/", re.DOTALL)
_DEFINE: Final = re.compile(rb"#[ \t]*define\b(?=(?:\\\n|[^\n]){0,5000}/\*)(?:\\\n|[^\n])*+")
_CONTINUED: Final = re.compile(rb"(?:(?!\\\n)[^\n])+")  # without the continuation mark
_CONTINUES: Final = re.compile(rb"[ \t]*(?!/[/*])[^\s]")
# Each pattern is blanked only if one of its trigger words occurs in the file.
_PATTERNS: Final = (
    # `class EXPORT Foo : public Bar {`, but not `struct stat x{}` or `enum KIND x : 3`.
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
    ((b"\nstatic",), re.compile(rb"\n(static)[ \t]+" + _UPPERCASE_NAME + _ARGUMENTS + rb"[ \t]*(?=\n)(?!\s*\{)")),
    # `int f PARAMS((int a));`
    (
        (b"PARAMS(", b"PARAMS (", b"PROTO(", b"PROTO (", b"ARGS(", b"ARGS_(", b"P((", b"P ((", b"OF((", b"OF (("),
        re.compile(
            rb"(?<=[\w)])[ \t]++(_*+(?:PARAMS|PROTO|PROTOTYPE|P|OF|ARGS|ANSI_ARGS)_*[ \t]*\()"
            rb"(?=\()\((?:[^()]|\((?:[^()]|\([^()]*\))*\)){0,1000}\)\s*(\))"
        ),
    ),
    # A type in the arguments of a macro: `DEFINE_FLAG(int, size, 8);`
    (
        (b"(",),
        re.compile(
            rb"\n[ \t]*+"
            + _UPPERCASE_NAME
            + rb"\(((?:[^()\n]*,)?\s*(?:(?:const|unsigned|signed|long|short|struct)\s+)*"
            rb"(?:int|char|bool|void|unsigned|short|long|float|double|\w+_t)[\s*&]*,(?:[^()]|\([^()]*\)){0,1000})\)"
        ),
    ),
    # A macro on its own line before a declaration that starts with a keyword.
    (
        (b"\n",),
        re.compile(
            rb"\n[ \t]*+("
            + _UPPERCASE_NAME
            + rb")[ \t]*+(?=\n\s*(?:template|class|struct|namespace|using|typedef|enum|static|"
            rb"extern|inline|constexpr|virtual|explicit)\b)"
        ),
    ),
    # The same in front of `public:`.
    (
        (b"public", b"private", b"protected"),
        re.compile(rb"\n[ \t]*+(" + _MACRO + rb")\s++(?=(?:public|protected|private)\b[^\n;(){}]*:)"),
    ),
    # Qt's keywords for members.
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
_MAX_DROPPED_BYTES: Final = 8_000  # bytes; a longer branch is not just a variant of a few lines
_LOOKBEHIND_BYTES: Final = 500
_MAX_IF_NESTING: Final = 20  # nested `#if`s
_BODY: Final = re.compile(rb"\s*\{")


def blank_macros(data: bytes, *, members: bool) -> bytes:
    """Blank what the parser cannot parse, with `members` also inside classes; the length and the lines stay."""
    if b"\r" in data:
        data = data.replace(b"\\\r\n", b" \\\n").replace(b"\r\n", b" \n")
    changed = bytearray(b"\n%b\n" % data)  # so that every line follows a newline
    for match in _DEFINE.finditer(bytes(changed)) if b"/*" in data else ():
        _blank_comments(changed, match)
    _keep_first_branches(changed)
    for words, pattern in _PATTERNS:
        for match in list(pattern.finditer(changed)) if any(word in changed for word in words) else ():
            for group in range(1, pattern.groups + 1):
                blank_out(changed, *match.span(group))
    for match in list(_TRAILING_MACRO.finditer(changed)):
        if _follows_function_header(changed, match.start()):
            blank_out(changed, *match.span(1))
    for match in list(_PARENTHESIZED_NAME.finditer(changed)):
        if _OTHER_STATEMENTS.isdisjoint(match[1].split()):
            blank_out(changed, *match.span(2))
            blank_out(changed, *match.span(3))
    for match in list(_HEADS[members].finditer(changed)):
        for start, end in _find_macros(match):
            blank_out(changed, start, end)
    return bytes(changed[1:-1])


def _blank_comments(data: bytearray, define: re.Match[bytes]) -> None:
    """Blank comments inside a `#define`: the grammar ends the macro at a comment though it continues."""
    for comment in _COMMENT.finditer(define[0]):
        if _CONTINUES.match(define[0], comment.end()):
            for line in _CONTINUED.finditer(comment[0]):
                start = define.start() + comment.start()
                blank_out(data, start + line.start(), start + line.end())


def _follows_function_header(data: bytearray, end: int) -> bool:
    """Check that a function header precedes: a type, a name and parameters, unlike `if (a)`."""
    start = max(data.rfind(mark, max(0, end - 1_000), end) for mark in (b";", b"{", b"}", b":\n")) + 1
    words = _PARTS.findall(data[start:end].partition(b"(")[0])
    return len(words) > 1 and _OTHER_STATEMENTS.isdisjoint(words)


def _find_macros(head: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the macros among the words before a name: all but the type, which may be built in."""
    parts = list(_PARTS.finditer(head[1]))
    words = [part[0] for part in parts]
    if not _OTHER_STATEMENTS.isdisjoint(words):
        return
    if head[2] and head[2] != b"(" and any(word.endswith(b")") for word in words):
        return  # `F(x) int x;`: K&R parameters
    plain: list[re.Match[bytes]] = []
    typed = b"explicit" in words  # only constructors are explicit
    for number, part in enumerate(parts):
        if part[0] in _BUILTIN_TYPES or (number and words[number - 1] in _TAGS):
            typed = True
        elif part[0] not in _TAGS and part[0] not in _SPECIFIERS:
            plain.append(part)
    if not typed and plain:
        plain.remove(_choose_type(plain))
    for part in plain:
        yield head.start(1) + part.start(), head.start(1) + part.end()


def _choose_type(plain: list[re.Match[bytes]]) -> re.Match[bytes]:
    """Return the likely type: the last word not in capitals, else the first that does not look like a linkage macro."""
    lowercase = [part for part in plain if not part[0].isupper() and not part[0].endswith(b")")]
    if lowercase:
        return lowercase[-1]
    return next((part for part in plain if not _LINKAGE.search(part[0])), plain[-1])


def _keep_first_branches(data: bytearray) -> None:
    """Keep only the first branch of an `#if` that splits a statement; inner ones are handled first."""
    open_conditionals: list[list[tuple[int, int]]] = []
    for line in _DIRECTIVE.finditer(bytes(data)):
        if line[2] == b"if":
            open_conditionals.append([line.span(1)])
        elif open_conditionals:
            open_conditionals[-1].append(line.span(1))
            if line[2] == b"endif":
                lines = open_conditionals.pop()
                if len(open_conditionals) < _MAX_IF_NESTING:
                    _keep_first_branch(data, lines)


def _keep_first_branch(data: bytearray, lines: list[tuple[int, int]]) -> None:
    (start, first), (_, end) = lines[0], lines[-1]
    if end - lines[1][0] > _MAX_DROPPED_BYTES:
        return
    if any(_has_unbalanced_braces(data, one[1], other[0]) for one, other in pairwise(lines)):
        if b"__cplusplus" in data[start:first]:
            blank_out(data, start, end)
            return
    elif all(_ends_with_comma(data, one[1], other[0]) for one, other in pairwise(lines)):
        for line in lines:  # parts of a list: keep all branches
            blank_out(data, *line)
        return
    elif not _is_inside_statement(data, start, end):
        return
    blank_out(data, start, first)
    blank_out(data, lines[1][0], end)


def _ends_with_comma(data: bytearray, start: int, end: int) -> bool:
    return _NON_CODE.sub(b"", data[max(start, end - _LOOKBEHIND_BYTES) : end]).rstrip().endswith(b",")


def _has_unbalanced_braces(data: bytearray, start: int, end: int) -> bool:
    """Check for unbalanced braces."""
    if data.count(b"{", start, end) == data.count(b"}", start, end) or end - start > _MAX_DROPPED_BYTES:
        return False
    code = _NON_CODE.sub(b"", data[start:end])
    return code.count(b"{") != code.count(b"}")


def _is_inside_statement(data: bytearray, start: int, end: int) -> bool:
    """Check whether the text before is incomplete, or a function body follows."""
    before = _COMMENT.sub(b"", data[max(0, start - _LOOKBEHIND_BYTES) : start]).rstrip()
    line = before[before.rfind(b"\n") + 1 :].lstrip()
    if line.startswith((b"#", b"//", b"*")):
        return False
    return before.endswith((b"=", b"[", b"(")) or _BODY.match(data, end) is not None
