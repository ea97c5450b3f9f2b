"""Write Office equations (OMML) as LaTeX, which people and models read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from xml.etree.ElementTree import Element

from dowse.ingest.extract.documents.archive import attribute, find

_SYMBOL_PAIRS: Final = (
    "α=\\alpha β=\\beta γ=\\gamma δ=\\delta ε=\\varepsilon ϵ=\\epsilon ζ=\\zeta η=\\eta θ=\\theta ϑ=\\vartheta"
    " ι=\\iota κ=\\kappa λ=\\lambda μ=\\mu ν=\\nu ξ=\\xi π=\\pi ρ=\\rho σ=\\sigma ς=\\varsigma τ=\\tau"
    " υ=\\upsilon φ=\\varphi ϕ=\\phi χ=\\chi ψ=\\psi ω=\\omega Γ=\\Gamma Δ=\\Delta Θ=\\Theta Λ=\\Lambda Ξ=\\Xi"
    " Π=\\Pi Σ=\\Sigma Υ=\\Upsilon Φ=\\Phi Ψ=\\Psi Ω=\\Omega ∞=\\infty ×=\\times ÷=\\div ±=\\pm ∓=\\mp ·=\\cdot"
    " ⋅=\\cdot ∙=\\bullet ∗=* −=- –=- ≤=\\leq ≥=\\geq ≠=\\neq ≈=\\approx ≡=\\equiv ∼=\\sim ≃=\\simeq ≅=\\cong"
    " ∝=\\propto ≪=\\ll ≫=\\gg ∈=\\in ∉=\\notin ∋=\\ni ⊂=\\subset ⊆=\\subseteq ⊃=\\supset ⊇=\\supseteq ∅=\\emptyset"
    " ∩=\\cap ∪=\\cup ∧=\\wedge ∨=\\vee ¬=\\neg ∀=\\forall ∃=\\exists ∄=\\nexists ⇒=\\Rightarrow ⇐=\\Leftarrow"
    " ⇔=\\Leftrightarrow →=\\rightarrow ←=\\leftarrow ↔=\\leftrightarrow ↑=\\uparrow ↓=\\downarrow ↦=\\mapsto"
    " ∂=\\partial ∇=\\nabla √=\\surd ∆=\\Delta ∑=\\sum ∏=\\prod ∐=\\coprod ∫=\\int ∬=\\iint ∭=\\iiint ∮=\\oint"
    " ∯=\\oiint ∰=\\oiiint ⋃=\\bigcup ⋂=\\bigcap ⋁=\\bigvee ⋀=\\bigwedge ⊕=\\oplus ⊗=\\otimes ⊥=\\perp ∥=\\parallel"
    " ∠=\\angle °=^{\\circ} ℏ=\\hbar ℓ=\\ell ℵ=\\aleph ℜ=\\Re ℑ=\\Im …=\\ldots ⋯=\\cdots ⋮=\\vdots ⋱=\\ddots ′='"
)
_SYMBOLS: Final = dict(pair.split("=", 1) for pair in _SYMBOL_PAIRS.split())
_ACCENTS: Final = {
    "\u0300": "grave", "\u0301": "acute", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "overline",
    "\u0306": "breve", "\u0307": "dot", "\u0308": "ddot", "\u030c": "check", "\u20d7": "vec", "\u20db": "dddot",
    "¯": "bar", "→": "vec", "^": "hat", "~": "tilde",
}  # fmt: skip
_FUNCTION_NAMES: Final = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max"
    " min sec sin sinh sup tan tanh"
)
_FUNCTIONS: Final = frozenset(_FUNCTION_NAMES.split())
_OPERATORS: Final = frozenset(("argmax", "argmin", "arg max", "arg min"))
_DELIMITERS: Final = {"{": "\\{", "}": "\\}", "⟨": "\\langle", "⟩": "\\rangle", "‖": "\\|", "⌊": "\\lfloor",
                      "⌋": "\\rfloor", "⌈": "\\lceil", "⌉": "\\rceil"}  # fmt: skip


def latex_of_equation(equation: Element) -> str:
    """Return an `m:oMath` element as LaTeX, or its plain characters if a part of it would be lost."""
    latex = _convert_children(equation).strip()
    plain = "".join(run.text or "" for run in equation.iter("m:t"))
    letters = [char for char in plain if char.isascii() and char.isalnum()]
    return latex if all(latex.count(char) >= letters.count(char) for char in set(letters)) else plain


def _convert(node: Element) -> str:
    writer = _WRITERS.get(node.tag)
    return writer(node) if writer else _convert_children(node)


def _convert_children(node: Element | None) -> str:
    return "" if node is None else "".join(map(_convert, node))


def _run(node: Element) -> str:
    return "".join(_escape(char) for text in node.iter("m:t") for char in text.text or "")


def _escape(char: str) -> str:
    symbol = _SYMBOLS.get(char)
    if symbol is None:
        return f"\\{char}" if char in "#$%&_" else char
    return f" {symbol} " if symbol.startswith("\\") else symbol


def _part(node: Element, name: str) -> str:
    return _convert_children(node.find(name))


def _base(node: Element) -> str:
    """Return the base of a script; a fraction or a root is grouped."""
    base = _part(node, "m:e")
    return f"{{{base}}}" if base.startswith("\\") else base


def _character(node: Element, properties: str, name: str, default: str) -> str:
    """Return a character of the properties; an empty value means none."""
    found = find(node, properties, name)
    return default if found is None else attribute(found, "m:val")


def _fraction(node: Element) -> str:
    over, under = _part(node, "m:num"), _part(node, "m:den")
    kind = attribute(find(node, "m:fPr", "m:type"), "m:val")
    if kind == "lin":
        return f"{over}/{under}"
    return f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{over}}}{{{under}}}" if kind == "noBar" else f"\\frac{{{over}}}{{{under}}}"


def _nary(node: Element) -> str:
    sign = _SYMBOLS.get(_character(node, "m:naryPr", "m:chr", "∫"), "\\int")
    return f"{sign}_{{{_part(node, 'm:sub')}}}^{{{_part(node, 'm:sup')}}}{_part(node, 'm:e')}"


def _delimiter(node: Element) -> str:
    left, right = _character(node, "m:dPr", "m:begChr", "("), _character(node, "m:dPr", "m:endChr", ")")
    separator = _character(node, "m:dPr", "m:sepChr", "|")
    inner = separator.join(_convert_children(part) for part in node.findall("m:e"))
    return f"\\left{_DELIMITERS.get(left, left) or '.'}{inner}\\right{_DELIMITERS.get(right, right) or '.'}"


def _function(node: Element) -> str:
    name, argument = _part(node, "m:fName").strip(), _part(node, "m:e")
    return f"{_name_function(name)}({argument})" if name in _FUNCTIONS else f"{name}{argument}"


def _name_function(name: str) -> str:
    if name in _OPERATORS:
        return f"\\operatorname{{{name}}}"
    return f"\\{name}" if name in _FUNCTIONS else name


def _limit(node: Element, sign: str) -> str:
    base = _part(node, "m:e").strip()
    limit = _part(node, "m:lim")
    if sign == "^" and base.startswith("\\overbrace"):
        return f"\\overset{{{limit}}}{{{base}}}"
    return f"{_name_function(base)}{sign}{{{limit}}}"


def _accent(node: Element) -> str:
    return f"\\{_ACCENTS.get(_character(node, 'm:accPr', 'm:chr', chr(0x302)), 'hat')}{{{_part(node, 'm:e')}}}"


def _group_character(node: Element) -> str:
    above = attribute(find(node, "m:groupChrPr", "m:pos"), "m:val") == "top"
    return f"\\{'over' if above else 'under'}brace{{{_part(node, 'm:e')}}}"


def _bar(node: Element) -> str:
    above = attribute(find(node, "m:barPr", "m:pos"), "m:val") == "top"
    return f"\\{'over' if above else 'under'}line{{{_part(node, 'm:e')}}}"


def _radical(node: Element) -> str:
    degree = _part(node, "m:deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{_part(node, 'm:e')}}}"


def _matrix(node: Element) -> str:
    rows = (" & ".join(_convert_children(cell) for cell in row.findall("m:e")) for row in node.findall("m:mr"))
    return "\\begin{matrix}" + " \\\\ ".join(rows) + "\\end{matrix}"


def _lines(node: Element) -> str:
    return " \\\\ ".join(_convert_children(line) for line in node.findall("m:e"))


_WRITERS: Final[dict[str, Callable[[Element], str]]] = {
    "m:r": _run,
    "m:f": _fraction,
    "m:sSup": lambda node: f"{_base(node)}^{{{_part(node, 'm:sup')}}}",
    "m:sSub": lambda node: f"{_base(node)}_{{{_part(node, 'm:sub')}}}",
    "m:sSubSup": lambda node: f"{_base(node)}_{{{_part(node, 'm:sub')}}}^{{{_part(node, 'm:sup')}}}",
    "m:sPre": lambda node: f"_{{{_part(node, 'm:sub')}}}^{{{_part(node, 'm:sup')}}}{_part(node, 'm:e')}",
    "m:nary": _nary,
    "m:d": _delimiter,
    "m:func": _function,
    "m:limLow": lambda node: _limit(node, "_"),
    "m:limUpp": lambda node: _limit(node, "^"),
    "m:acc": _accent,
    "m:groupChr": _group_character,
    "m:bar": _bar,
    "m:rad": _radical,
    "m:m": _matrix,
    "m:eqArr": _lines,
}
