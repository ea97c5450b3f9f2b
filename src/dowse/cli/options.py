"""Options that commands share, and paths as the user typed them."""

from __future__ import annotations

import os
import os.path
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from dowse.config import ENVIRONMENT_PREFIX, SECRET_SETTINGS, SETTINGS, Settings
from dowse.errors import BadInput
from dowse.model import FILES, Collection, Hit, Scope
from dowse.server.workspace import Workspace, find_workspace
from dowse.text.globs import escape_glob

Command = Callable[..., Any]
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; its keys are stable.")


def _require_one_root(_context: click.Context, _parameter: click.Parameter, roots: tuple[Path, ...]) -> Path | None:
    """Reject several roots; click would silently take the last one."""
    if len(roots) > 1:
        raise BadInput("this command works on one root; pass --root once, or search several with `dowse search`")
    return roots[0] if roots else None


root_option = click.option(
    "--root",
    multiple=True,
    callback=_require_one_root,
    type=click.Path(path_type=Path),
    help="Directory to search (default: nearest indexed parent, else the current one).",
)
roots_option = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Directory to search or serve (repeatable; each has its own index).",
)
_DEFAULT_EXACT_LIMIT = 100
_SHORT_FLAGS = {"limit": ("-k",)}
_HELP_ALL_KEY = "dowse.help_all"


class _SettingOption(click.Option):
    """The flag of a setting, shown by --help only if the command is about that setting, and always by --help-all."""

    def __init__(self, *words: Any, is_shown: bool, **facts: Any) -> None:  # noqa: ANN401
        super().__init__(*words, **facts)
        self._is_shown = is_shown

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        return super().get_help_record(context) if self._is_shown or context.meta.get(_HELP_ALL_KEY) else None


def settings_options(**shown: str) -> Callable[[Command], Command]:
    """Add a flag for each setting; without the flag, its variable, file entry or default applies.

    The settings named here appear in --help, with this text or, if it is empty, with that of the settings table.
    """

    def with_flags(function: Command) -> Command:
        function = _help_all_option(function)
        for name in reversed(SETTINGS):
            if name not in SECRET_SETTINGS:
                function = _setting_option(name, shown.get(name))(function)
        return function

    return with_flags


def _setting_option(name: str, words: str | None) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    facts: dict[str, Any] = {
        "cls": _SettingOption,
        "default": None,
        "help": words or _setting_help(name),
        "is_shown": words is not None,
    }
    if SETTINGS[name].type == "bool":
        return click.option(f"{flag}/--no-{flag[2:]}", name, **facts)
    return click.option(flag, *_SHORT_FLAGS.get(name, ()), name, metavar=_metavar(name), **facts)


def _setting_help(name: str) -> str:
    setting = SETTINGS[name]
    default = "" if setting.default in (None, ()) else f"  [default: {_default_text(setting.default)}]"
    help = setting.metadata["help"]
    return f"{help[0].upper()}{help[1:]}.{default}  [{ENVIRONMENT_PREFIX}{name.upper()}]"


def _print_help_all(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set and not context.resilient_parsing:
        context.meta[_HELP_ALL_KEY] = True
        click.echo(context.get_help())
        context.exit()


_help_all_option = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_help_all,
    help="Also list settings (each is a flag of every command).",
)


def _default_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _metavar(name: str) -> str:
    kinds = {"int": "N", "float": "N", "str": "NAME", "Path | None": "PATH", "tuple[str, ...]": "GLOB,…"}
    return kinds[str(SETTINGS[name].type)]


def exact_result_limit(settings: Settings, flags: dict[str, Any]) -> int:
    """Return how many exact results to show: they are lines, not passages, so the default is higher than for search."""
    return _DEFAULT_EXACT_LIMIT if flags.get("limit") is None else settings.limit


# A person who typed a question prefers waiting for a parser to start over asking again.
_COMMAND_DEFAULTS = Settings(freshness_timeout_ms=2_000)


def workspace_of(root: Path | None, flags: dict[str, Any], **defaults: Any) -> Workspace:  # noqa: ANN401
    """Find the workspace by flags, variables and files; `defaults` apply to settings that none of them sets."""
    settings = {name: flags.get(name) for name in SETTINGS}
    workspace_found = find_workspace(
        cwd=Path.cwd(),
        environment=os.environ,
        flags=settings,
        root=root,
        defaults=replace(_COMMAND_DEFAULTS, **defaults),
    )
    workspace = replace(workspace_found, flags=settings)
    if workspace.notice:
        click.echo(workspace.notice, err=True)
    context = click.get_current_context(silent=True)
    if context and isinstance(context.obj, list):  # the caller repairs damage found in these
        context.obj.append(workspace)
    return workspace


# --------------------------------------------------------------------------------------------------
# Paths relative to the current directory, as in ripgrep.
#
# Printed paths can be opened from there, and typed paths are tried there first. Records store paths relative to their
# root; `--json` prints those, and names the root.

_TARGET_PATTERN = re.compile(r"(?P<path>.+?)(?P<rest>(?::\d{1,9}(?:-\d{1,9})?|#.*)?)", re.DOTALL)
_WILDCARD = re.compile(r"[*?\[{\\]")
_RELATIVE_PREFIXES = ("./", "../")
_ATOMIC_TYPES = (str, int, float, type(None))
# Fields that hold paths relative to the root, without a collection field next to them.
_ROOT_PATH_FIELDS = {"Impact": ("files_without_definitions", "files_not_indexed"), "DiskFreshness": ("examples",)}

T = TypeVar("T")


def directory_of(workspace: Workspace) -> Path:
    """Return the root, or the directory of a root that is a file."""
    return workspace.root if workspace.root.is_dir() else workspace.root.parent


class PathDisplay:
    """Converts paths between the roots of an index and the current directory."""

    def __init__(self, collections: Iterable[Collection], root: Path, cwd: Path) -> None:
        self._roots = {it.name: it.root for it in collections if it.source == FILES}
        self._cwd = str(cwd)
        enclosing = [it for it in self._roots.values() if _is_path_below(str(root), it)]
        self.root = max(enclosing, key=len, default=str(root))
        """The directory that paths in JSON are relative to, unless their collection has another root."""

    @classmethod
    def of(cls, collections: Iterable[Collection], workspace: Workspace) -> PathDisplay:
        return cls(collections, directory_of(workspace), Path.cwd())

    # --- output ---

    def show(self, path: str, collection: str = "") -> str:
        """Convert a path of a root: relative if it is below the current directory or the root is above it, else
        absolute."""
        root = self._roots.get(collection, "" if collection else self.root)
        if not root or root == self._cwd:
            return path  # a commit or note has a name, not a path; or the root is the current directory
        full = os.path.join(root, path)  # noqa: PTH118
        return (
            os.path.relpath(full, self._cwd)
            if _is_path_below(self._cwd, root) or _is_path_below(full, self._cwd)
            else full
        )

    def to_display(self, answer: T) -> T:
        """Return the answer with every path converted for a person in the current directory."""
        return cast(T, self._walk(answer))

    def _walk(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, _ATOMIC_TYPES):
            return value
        if isinstance(value, tuple) and (names := getattr(value, "_fields", ())):
            return type(value)(**{name: getattr(value, name) for name in names} | self._changes(value, names))
        if isinstance(value, tuple | list):
            return type(value)(map(self._walk, value))
        if is_dataclass(value) and not isinstance(value, type):
            changes = self._changes(value, [field.name for field in fields(value)])
            return replace(value, **changes) if changes else value
        return value

    def _changes(self, item: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
        """Return the fields that change."""
        values = {name: getattr(item, name) for name in names}
        converted = {name: self._walk(value) for name, value in values.items()}
        if "path" in values and "collection" in values:
            converted["path"] = self.show(values["path"], values["collection"])
        if values.get("display_path") and isinstance(item, Hit):
            converted["display_path"] = self.show(values["display_path"])
        for name in _ROOT_PATH_FIELDS.get(type(item).__name__, ()):
            converted[name] = tuple(map(self.show, values[name]))
        record = values.get("record")
        if record is not None and values.get("name") == getattr(record, "path", None):
            converted["name"] = converted["record"].path  # an item without a name goes by its path
        return {name: value for name, value in converted.items() if value is not values[name]}

    # --- input ---

    def target(self, text: str) -> str:
        """Convert `x.md`, `x.md:3` or `x.md#Heading` to a path from its root if the file exists here; else return it
        unchanged."""
        parts = _TARGET_PATTERN.fullmatch(text)
        for path, rest in ((text, ""), (parts["path"], parts["rest"]) if parts else ("", "")):
            found = self._find_root(path)
            if found:
                inside = os.path.relpath(_join_normalized(self._cwd, path), found)
                # Another root may contain the same path.
                return (_join_normalized(found, inside) if len(self._roots) > 1 else inside) + rest
        return text

    def anchor(self, text: str) -> str:
        """Convert a typed path to one relative to the root, never absolute, so that a note holds on other machines
        too."""
        return self.target(text).removeprefix(f"{self.root}/")

    def _find_root(self, path: str) -> str:
        full = _join_normalized(self._cwd, path)
        if not path or path.startswith("/") or not (path.startswith(_RELATIVE_PREFIXES) or os.path.isfile(full)):  # noqa: PTH113
            return ""
        return max((it for it in self._roots.values() if _is_path_below(full, it)), key=len, default="")

    def from_input(self, query: T) -> T:
        """Return the query with globs relative to the root.

        Globs that start with ./ or ../, or name an existing path, are taken as relative to the current directory.
        """
        scope: Scope = query.scope  # type: ignore[attr-defined]
        paths, excluded = tuple(map(self._resolve_glob, scope.paths)), tuple(map(self._resolve_glob, scope.excluded))
        if (paths, excluded) == (scope.paths, scope.excluded):
            return query
        return replace(query, scope=replace(scope, paths=paths, excluded=excluded))  # type: ignore[type-var]

    def _resolve_glob(self, glob: str) -> str:
        if self._cwd == self.root and not glob.startswith("../"):
            return glob
        if not glob.startswith(_RELATIVE_PREFIXES) and glob not in (".", ".."):
            if _WILDCARD.search(glob) or glob.startswith("/") or not os.path.exists(_join_normalized(self._cwd, glob)):  # noqa: PTH110
                return glob
            glob = escape_glob(glob)
        full, root = _join_normalized(escape_glob(self._cwd), glob), escape_glob(self.root)
        if full != root and not full.startswith(f"{root}/"):
            raise BadInput(f"glob {glob!r} points outside {self.root}; use one inside it")
        inside = full[len(root) + 1 :] or "**"
        return f"./{inside}{'/' if glob.endswith('/') else ''}"


def json_with_root(data: Mapping[str, object], paths: PathDisplay) -> dict[str, object]:
    """Return JSON data with the directory that its paths are relative to."""
    return {"root": paths.root, **data}


def _is_path_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _join_normalized(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118
