"""What git is to show as the heading of a hunk: the line that begins the definition it stands in, indented as it is.

By itself git shows the last line before the hunk that begins at its left edge: in most languages the class, not the
method. Which pattern a file has is told by `attributes`, beside this module; they are POSIX expressions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_ATTRIBUTES: Final = Path(__file__).with_name("attributes")
_NOT_CODE: Final = (
    "![ \t]*(if|else|for|foreach|while|do|switch|catch|return|throw|new|await|case|using|lock|super)[ \t(]"
)
_MEMBER: Final = "[ \t]+([A-Za-z_$#][^;={}\"']*[ \t*])?[A-Za-z_$#][A-Za-z0-9_$]*[ \t]*\\("
_PATTERNS: Final = {
    # Functions inside of others are passed over, as far as one can tell: what follows them belongs to the outer one.
    "python": (
        "^((class|(async[ \t]+)?def)[ \t].*"
        "|[ \t]+(class[ \t].*|(async[ \t]+)?def[ \t]+[^(]*\\((self|cls|mcs|metacls|$).*))$",
    ),
    "script": (
        _NOT_CODE,
        "^([ \t]*(export[ \t]+|default[ \t]+|abstract[ \t]+|declare[ \t]+|async[ \t]+)*"
        "(function|class|interface|enum|namespace)[ \t*].*"
        "|(export[ \t]+)?(const|let|var)[ \t]+[A-Za-z0-9_$]+.*(=>|function).*"
        "|(  |\t)([a-z]+[ \t]+)*[A-Za-z_$#][A-Za-z0-9_$]*\\([^;\"'`]*\\{[ \t]*)$",
    ),
    "curly": (
        _NOT_CODE,
        f"^([ \t]*([a-z]+[ \t]+)*(class|interface|enum|struct|record|trait|object)[ \t].*|{_MEMBER}[^;]*)$",
    ),
    "keyword": (
        "^([ \t]*([a-z]+(\\([a-z]*\\))?[ \t]+)*"
        "(fn|fun|func|function|def|class|module|object|trait|interface|enum|struct|impl|protocol|extension|actor)"
        "[ \t<].*)$",
    ),
}


def heading_options() -> tuple[str, ...]:
    """Options for git, in front of its command."""
    patterns = (f"diff.dowse-{name}.xfuncname={chr(10).join(lines)}" for name, lines in _PATTERNS.items())
    return ("-c", f"core.attributesFile={_ATTRIBUTES}", *(part for it in patterns for part in ("-c", it)))
