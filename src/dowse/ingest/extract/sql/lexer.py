"""SQL of any dialect taken apart by one regex: names, a few marks, and everything else skipped.

Every alternative is possessive and takes an unfinished comment or string to the end, so that the time is linear in the
length of any text. Strings also end where a `GO` line begins: a batch is never inside one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Dialect = Literal["tsql", "postgres", "mysql", "plsql", "other"]

# The only groups without a name tell that something is unfinished.
# MySQL runs what stands in /*!50003 … */, so these two are blanks, and what is between them is not.
_EXECUTED = r"/\*!\d{5,6}|\*/"
_LINE_COMMENT = r"--[^\n]*+"
_COMMENT = r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|(\Z))"
_INNER = r"/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+\*/"
_NESTED_COMMENT = rf"/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*)|{_INNER})[^*/]*+)*+(?:\*/|(\Z))"
_STRING = r"'[^'\n]*+(?:(?:''|\n(?!GO[ \t]*+\r?+(?:\n|\Z)))[^'\n]*+)*+(?:'|((?=\n)|\Z))"
_ESCAPED_STRING = r"'[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+(?:'|(\\?\Z))"
_DOUBLE_STRING = r'"[^"\\]*+(?:(?:""|\\.)[^"\\]*+)*+(?:"|(\\?\Z))'
# q'[it's]' of PL/SQL, with any of these marks around it.
_QUOTED_STRING = (
    r"(?=[nNqQ])[nN]?[qQ]'(?:"
    + "|".join(
        rf"{first}[^{last}]*+(?:{last}(?!')[^{last}]*+)*+(?:{last}'|(\Z))"
        for first, last in ((r"\[", r"\]"), ("{", "}"), (r"\(", r"\)"), ("<", ">"), ("!", "!"), (r"\|", r"\|"))
    )
    + ")"
)
_NUMBER = r"\d[\w.]*+"

# END$$ and END$ are an END before MySQL's delimiter.
_PLAIN = r"[^\W\d](?:[\w@#]|\$(?=\w)|(?<!\b(?i:END))\$(?!\$))*+|[@#][\w@#$]++"
# Names have at most 128 characters; a quote that opens nothing must not be looked for to the end of the text.
_QUOTED = r'\[(?:[^\]\n]|\]\]){1,128}+\]|"(?:[^"\n]|""){1,128}+"|`[^`\n]{1,128}+`'
_PART = rf"(?:{_PLAIN}|{_QUOTED})"

NAME: Final = rf"{_PART}(?:\s*+\.\s*+(?:\.\s*+)?{_PART})*+"
"""Parts with dots between them: `dbo.[Order Lines]`, `db..t`."""
GAP: Final = rf"(?:\s++|{_LINE_COMMENT}|{_EXECUTED}|{_COMMENT})*+"
"""What may stand between any two words."""

_LOOKED_AT_CHARS: Final = 200_000
_EACH_PART = re.compile(_PART)
_DIALECTS: tuple[tuple[Dialect, re.Pattern[str]], ...] = (
    ("mysql", re.compile(r"^[ \t]*+DELIMITER[ \t]|\bENGINE\s*+=|`\w+`|/\*!\d{5}", re.IGNORECASE | re.MULTILINE)),
    ("plsql", re.compile(r"\$IF\b", re.IGNORECASE)),  # where $$name is a setting, and opens no string
    ("postgres", re.compile(r"\$\w*+\$|\bLANGUAGE\s++'?(?:plpgsql|sql)\b|::\w", re.IGNORECASE)),
    (
        "tsql",
        re.compile(
            r"^[ \t]*+GO[ \t]*+\r?$|\bdbo\]?\.|\[\w++\]\.|\bEXEC\b|\bPROC(?:EDURE)?\s++[\w.\[\]]++\s*+\(?\s*+@\w",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)


def dialect_of(text: str) -> Dialect:
    """Told by the first thing that no other dialect has; it decides where strings and routines end."""
    found = ((marks.search(text, 0, _LOOKED_AT_CHARS), name) for name, marks in _DIALECTS)
    return min(((mark.start(), name) for mark, name in found if mark), default=(0, "other"))[1]


@lru_cache(maxsize=5)
def lexer(dialect: Dialect) -> re.Pattern[str]:
    """Finds the tokens of a text: group `name`, `dollar` or `mark`; what has no group is skipped, what has another
    is unfinished."""
    if dialect == "mysql":
        skipped = [_LINE_COMMENT, r"#[^\n]*+", _EXECUTED, _COMMENT, _ESCAPED_STRING, _DOUBLE_STRING, _NUMBER]
    else:
        skipped = [
            _LINE_COMMENT,
            _EXECUTED,
            _NESTED_COMMENT,
            _COMMENT,
            _QUOTED_STRING,
            _STRING,
            rf"[eE]{_ESCAPED_STRING}",
            _NUMBER,
            *([r"\$(?i:END)\b"] if dialect == "plsql" else []),
        ]
    dollar = r"(?P<dollar>(?!))" if dialect in ("mysql", "plsql") else r"(?P<dollar>\$\w*+\$)"
    return re.compile("|".join([*skipped, dollar, rf"(?P<name>{NAME})", r"(?P<mark>[();,])"]), re.DOTALL)


def parts(name: str) -> list[str]:
    """The parts of a name without their quotes."""
    return [_bare(part) for part in _EACH_PART.findall(name)]


def last_part(name: str) -> str:
    found = parts(name)
    return found[-1] if found else ""


def _bare(part: str) -> str:
    if part[0] == "[":
        return part[1:-1].replace("]]", "]")
    if part[0] in '"`':
        return part[1:-1].replace(part[0] * 2, part[0])
    return part
