"""What languages do differently when a name is looked up, by the suffix of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Habits:
    """`family`: files that see each other's names. `bare_members`: members are named without their object.

    `modules`: what an import names: a Python module, a path, or a namespace. `reach`: where names of other files are
    known without an import: nowhere, in the same folder, or in the whole project. `open_types`: what has the same
    name, whole trail and all, is one type, wherever its members are written; `defined_once`: unless it is defined more
    than once, for others only add to it. `structural`: what has the methods of an
    interface implements it. `virtual`: a method may be overridden in what inherits it, not only in what implements an
    interface. `split_methods`: a method may stand in another file of the folder than its type. `delegates`: functions
    are held by what has a type of functions, and only by that.
    """

    family: str
    bare_members: bool = False
    modules: Literal["python", "path", "namespace"] = "namespace"
    reach: Literal["file", "folder", "project"] = "project"
    overloads: bool = False
    case_sensitive: bool = True
    open_types: bool = False
    defined_once: bool = False
    structural: bool = False
    virtual: bool = True
    split_methods: bool = False
    delegates: bool = False


_PYTHON = Habits("python", modules="python", reach="file")
_SCRIPT = Habits("script", modules="path", reach="file", structural=True)
_DOTNET = Habits("dotnet", bare_members=True, reach="file", overloads=True, delegates=True)
_JVM = Habits("jvm", bare_members=True, reach="folder", overloads=True)
_GO = Habits("go", reach="folder", structural=True, virtual=False, split_methods=True)
_RUST = Habits("rust", open_types=True, defined_once=True)
_C = Habits("c", bare_members=True, overloads=True, open_types=True)
_PHP = Habits("php")
_RUBY = Habits("ruby", bare_members=True, open_types=True)
_SWIFT = Habits("swift", bare_members=True, overloads=True, open_types=True)
_SHELL = Habits("shell")
_SQL = Habits("sql", case_sensitive=False)
_OTHER = Habits("other", bare_members=True)

_BY_SUFFIX = {
    suffix: habits
    for habits, suffixes in (
        (_PYTHON, "py pyi pyw"),
        (_SCRIPT, "js jsx mjs cjs ts tsx mts cts vue svelte"),
        (_DOTNET, "cs vb csx"),
        (_JVM, "java kt kts scala sc groovy"),
        (_GO, "go"),
        (_RUST, "rs"),
        (_C, "c h cc cpp cxx hh hpp hxx inl m mm ipp tpp ino cu cuh h++ c++"),
        (_PHP, "php phtml"),
        (_RUBY, "rb rake gemspec ru podspec"),
        (_SWIFT, "swift"),
        (_SHELL, "sh bash zsh ksh bats"),
        (_SQL, "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc"),
    )
    for suffix in suffixes.split()
}


def habits_of(path: str) -> Habits:
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower(), _OTHER)
