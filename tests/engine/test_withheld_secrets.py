"""Secrets are in no answer and in no index: not of files, commits or memories, nor from the disk as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.sources.base import ListingScope
from dowse.lookup.find import NameQuery
from dowse.lookup.grep import GrepQuery
from dowse.lookup.history import HistoryQuery
from dowse.model import Query, Scope
from gits import Repo
from support import OpenEngine

PASSWORD = "correcthorsebatterystaple"  # known by the name of its file alone
TOKEN = "ghp_" + "a1B2c3D4e" * 4  # known by its form
COMMITS = Scope(kinds=("commit",))


def indexed(engine: Engine, root: Path) -> Engine:
    engine.index([root])
    engine.histories.index_history()
    return engine


@pytest.fixture
def leaky(root: Path) -> Repo:
    """Its owner committed all that should never be, and then tried to take it back."""
    repo = Repo(root)
    usual = "".join(f"SETTING_{number}=usual\n" for number in range(9))
    repo.commit("Begin", {"app.py": "def main():\n    pass\n", "settings.txt": usual, "id_rsa": f"{PASSWORD}\n"})
    repo.run("mv", "settings.txt", ".env")
    repo.commit("Rename to .env", {".env": f"{usual}DB={PASSWORD}\n"})
    repo.commit(
        "Configure", {"app.py": f'KEY = "{TOKEN}"\n\ndef main():\n    pass\n', "keep/.ENV": f"DB={PASSWORD}2\n"}
    )
    repo.commit(f"Rotate {TOKEN}\n\nThe old one was {TOKEN}.", {".env": f"{usual}DB={PASSWORD}3\n"})
    repo.run("mv", ".env", "settings.txt")
    repo.commit("Rename from .env", {"settings.txt": usual})
    repo.run("rm", "-q", "id_rsa")
    repo.commit("Take it back")
    return repo


def told(engine: Engine, root: Path) -> str:
    """All that can be had from anywhere."""
    parts = [f"{it.chunk.text} {it.chunk.trail} {it.record}" for it in engine.export()]
    parts += [str(engine._core.store.catalog.links(it)) for it in engine._core.store.catalog.select(Scope())]
    parts += [engine.lines(it.record).text for it in engine.export()]
    for word in (PASSWORD, "KEY", "Rotate", "DB"):
        parts += [str(it) for it in engine.search(Query(word, limit=50)).hits]
        grepped = engine.grep(GrepQuery((word,), "substring"))
        parts += [
            str(engine.code.excerpts(engine.record(it.path, it.collection)[0], it.lines, 2, 2)) for it in grepped.files
        ]
        parts.append(str(grepped.words))
        parts.append(
            str(
                engine.code.find_contents(
                    NameQuery((word,)), ListingScope(include_hidden=True, include_ignored=True)
                ).files
            )
        )
    checkout = engine.history.checkout(root)
    for path in ("app.py", ".env", "settings.txt", "id_rsa", "keep/.ENV"):
        for from_git in (False, True):
            found, _ = engine.history.commits(checkout, HistoryQuery(path), from_git=from_git)
            parts += [str(found), str(engine.history.patches(checkout, found, 500))]
    parts.append(str(engine.history.blame_in(checkout, "app.py")))
    return "\n".join(parts)


def test_no_secret_is_told_from_files_or_commits_or_git_itself(
    open_engine: OpenEngine, leaky: Repo, root: Path, tmp_path: Path
) -> None:
    engine = indexed(open_engine(), root)
    everything = told(engine, root)
    assert "def main" in everything and "Rotate ghp_" in everything  # it does look
    assert PASSWORD not in everything
    assert TOKEN not in everything
    assert TOKEN[:-1] not in everything
    engine.close()
    stored = b"".join(it.read_bytes() for it in (tmp_path / "index").iterdir() if it.is_file())
    assert PASSWORD.encode() not in stored and TOKEN.encode() not in stored


@pytest.mark.parametrize("path", ["keep/.ENV", ".env"])
def test_who_wrote_a_file_of_secrets_is_not_told_with_its_lines(
    open_engine: OpenEngine, leaky: Repo, root: Path, path: str
) -> None:
    engine = indexed(open_engine(), root)
    with pytest.raises(BadInput, match="cannot blame"):
        engine.history.blame_in(engine.history.checkout(root), path)


def test_commits_of_such_a_file_are_told_without_its_changes(open_engine: OpenEngine, leaky: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    checkout = engine.history.checkout(root)
    found, _ = engine.history.commits(checkout, HistoryQuery("keep/.ENV"))
    assert [it.title for it in found.commits] == ["Configure"]
    (patch,) = engine.history.patches(checkout, found, 500).values()
    assert (patch.text, patch.problem.partition(",")[0]) == ("", "the file is excluded by its name")


def test_status_counts_what_was_held_back(open_engine: OpenEngine, leaky: Repo, root: Path) -> None:
    status = indexed(open_engine(), root).status()
    # id_rsa came and went, .env was renamed to and from and changed, keep/.ENV came and is there still; the token is
    # in a file, in the commit of that, and twice in a message.
    assert dict(status.held_back) == {"files": 1, "changes": 6, "values": 4}
    (held,) = status.skipped
    assert (held.path, held.reason) == ("keep/.ENV", "held back: files with this name hold secrets")


def test_the_user_may_show_secrets_and_hide_them_again(open_engine: OpenEngine, leaky: Repo, root: Path) -> None:
    indexed(open_engine(), root).close()
    shown = indexed(open_engine(show_secrets=True), root)
    assert shown.search(Query(PASSWORD, COMMITS)).hits
    everything = told(shown, root)
    assert PASSWORD in everything and TOKEN in everything
    assert dict(shown.status().held_back) == {"files": 0, "changes": 0, "values": 0}
    shown.close()
    hidden = indexed(open_engine(), root)
    assert PASSWORD not in told(hidden, root)


# --- what is left out by other rules --------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "ignored"),
    [({"exclude": ("private/",)}, ""), ({}, "private/\n"), ({}, "*.txt\n"), ({"exclude": ("**/plan.txt",)}, "")],
)
def test_what_files_leave_out_holds_for_their_history(
    open_engine: OpenEngine, root: Path, settings: dict[str, object], ignored: str
) -> None:
    repo = Repo(root)
    repo.commit("Plan", {"private/plan.txt": f"{PASSWORD}\n", "notes.md": "# Notes\n", ".dowseignore": ignored})
    repo.run("rm", "-q", "private/plan.txt")
    repo.commit("Forget the plan")
    engine = indexed(open_engine(**settings), root)
    assert PASSWORD not in "".join(it.chunk.text for it in engine.export())
    assert "Files changed:\nprivate/plan.txt" in told_files(engine)  # its name is
    assert engine.status().held_back["changes"] == 2


def test_rules_that_change_have_the_history_told_anew(open_engine: OpenEngine, root: Path) -> None:
    repo = Repo(root)
    repo.commit("Plan", {"private/plan.txt": f"{PASSWORD}\n", "sub/plan.txt": f"{PASSWORD}\n"})

    def commits(engine: Engine) -> str:
        return "".join(it.chunk.text for it in indexed(engine, root).export() if it.record.kind == "commit")

    engine = open_engine()
    assert commits(engine).count(PASSWORD) == 2
    (root / ".dowseignore").write_text("private/\n")
    assert commits(engine).count(PASSWORD) == 1
    (root / "sub" / ".dowseignore").write_text("plan.txt\n")
    assert commits(engine).count(PASSWORD) == 0
    (root / ".dowseignore").unlink()
    (root / "sub" / ".dowseignore").unlink()
    assert commits(engine).count(PASSWORD) == 2
    engine.close()
    excluding = open_engine(exclude=("sub/",))
    assert "root.git is indexed by another version or with other settings" in str(excluding.completeness().notes)
    assert commits(excluding).count(PASSWORD) == 1


@pytest.mark.parametrize("place", ["", "web"])
def test_a_repository_around_the_root_is_held_to_the_same_rules(
    open_engine: OpenEngine, root: Path, place: str
) -> None:
    repo = Repo(root)
    files = {
        "web/private/a.txt": f"{PASSWORD}\n",
        "web/b.txt": "told\n",
        "api/.env": f"{PASSWORD}\n",
        "api/c.txt": "told\n",
    }
    repo.commit("Plan", files)
    (root / "web" / ".dowseignore").write_text("private/\n")
    engine = indexed(open_engine(), root / place)
    texts = "".join(it.chunk.text for it in engine.export() if it.record.kind == "commit")
    assert PASSWORD not in texts and texts.count("+told") == 2


def test_a_repository_below_the_root_is_held_to_the_same_rules(open_engine: OpenEngine, root: Path) -> None:
    Repo(root / "inner").commit("Plan", {"private/a.txt": f"{PASSWORD}\n", "b.txt": "told\n"})
    engine = indexed(open_engine(exclude=("inner/private/",)), root)
    texts = "".join(it.chunk.text for it in engine.export() if it.record.kind == "commit")
    assert PASSWORD not in texts and "+told" in texts


def test_a_bare_repository_keeps_its_secrets_too(open_engine: OpenEngine, tmp_path: Path, leaky: Repo) -> None:
    bare = tmp_path / "bare.git"
    leaky.run("clone", "-q", "--bare", str(leaky.place), str(bare))
    engine = indexed(open_engine(), bare)
    texts = "".join(it.chunk.text for it in engine.export())
    assert "def main" in texts and PASSWORD not in texts and TOKEN not in texts
    with pytest.raises(BadInput, match="cannot blame"):
        engine.history.blame_in(engine.history.checkout(bare), "keep/.ENV")


# --- files ----------------------------------------------------------------------------------------


def test_no_setting_and_no_ignore_file_brings_secrets_back(open_engine: OpenEngine, root: Path) -> None:
    for path in (".env", "sub/ID_RSA", ".aws/credentials", "a.md"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(PASSWORD)
    (root / ".dowseignore").write_text("!.env\n!credentials\n")
    engine = open_engine(default_excludes=False, gitignore=False, include=("**",))
    engine.index([root])
    assert [it.record.path for it in engine.export()] == [".dowseignore", "a.md"]
    assert engine.status().held_back["files"] == 3


def test_a_root_that_is_such_a_directory_tells_nothing(open_engine: OpenEngine, root: Path) -> None:
    (root / ".aws").mkdir()
    (root / ".aws" / "credentials").write_text(PASSWORD)
    engine = open_engine()
    engine.index([root / ".aws"])
    assert list(engine.export()) == []


@pytest.mark.parametrize("name", ["link.txt", ".env"])
def test_a_link_does_not_lead_to_secrets(open_engine: OpenEngine, root: Path, name: str) -> None:
    (root / "id_ed25519").write_text(PASSWORD)
    (root / name).symlink_to("id_ed25519")
    engine = open_engine()
    engine.index([root])
    assert list(engine.export()) == []


def test_a_file_that_was_indexed_before_is_dropped_and_the_rest_read_again(
    open_engine: OpenEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "credentials.json").write_text(PASSWORD)
    (root / "a.md").write_text(f"# Key\n\n{TOKEN}\n")
    with monkeypatch.context() as older, open_engine(show_secrets=True) as engine:
        older.setattr("dowse.ingest.chunk.EXTRACTION_VERSION", 3)
        engine.index([root])
        assert TOKEN in told_files(engine) and PASSWORD in told_files(engine)
    engine = open_engine()
    engine.index([root])
    assert told_files(engine) == f"# Key\n\nghp_{'*' * 36}"


def told_files(engine: Engine) -> str:
    return "\n".join(it.chunk.text for it in engine.export())


def test_code_with_a_masked_value_is_still_parsed(open_engine: OpenEngine, root: Path) -> None:
    (root / "a.py").write_text(f'KEY = "{TOKEN}"\n\ndef use():\n    return KEY\n')
    engine = open_engine()
    engine.index([root])
    (record,) = engine.record("a.py")
    assert record.facets["masked"] == "1"
    assert [it.symbol.name for it in engine.code.definitions_at("a.py", 4)] == ["use"]


# --- memories -------------------------------------------------------------------------------------


def test_a_memory_is_told_with_its_secrets_masked_and_kept_as_it_was_written(
    open_engine: OpenEngine, root: Path
) -> None:
    (root / "a.md").write_text("# A\n")
    engine = open_engine()
    engine.index([root])
    written = engine.memory.remember("rotation", f"The token is {TOKEN} for now.")
    assert TOKEN in written.path.read_text()
    assert "The token is ghp_****" in engine.memory.recall("rotation").text
    engine.memory.append("rotation", "And more.")
    assert TOKEN in written.path.read_text()
    (hit,) = engine.search(Query("token rotation", Scope(kinds=("memory",)))).hits
    assert "ghp_****" in hit.stored.chunk.text and TOKEN not in str(hit)
    assert TOKEN not in engine.lines(hit.stored.record).text
