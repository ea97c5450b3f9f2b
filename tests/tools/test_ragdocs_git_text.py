"""What `search_git_history` of the ragdocs contract shows of a commit, however its text was cut into chunks."""

from __future__ import annotations

import re

import pytest

from dowse.git.commit import CommitData, FileChange, Signature
from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.extract.commit import extract_commit
from dowse.model import Hit, Item, Record, StoredChunk
from dowse.tools.ragdocs_render import commit_markdown

ANN = Signature("Ann", "ann@example.org", 1_700_000_060)
DELTA = "diff --git a/tide.py b/tide.py\n--- a/tide.py\n+++ b/tide.py\n@@ -1 +1,2 @@\n tide = 0\n+moon = 1"
SENTENCE = "Neaps were taken for springs in every harbour. "
QUOTED = "diff --git a/quoted b/quoted\n+of the message"
FAKED = f"Author: Ann <ann@example.org>\nCommitter: Ann <ann@example.org>\n\n{QUOTED}"


def shown(message: str, files: int = 1, delta: str = DELTA, limits: ChunkLimits | None = None) -> str:
    """The delta that is shown of such a commit."""
    touched = [FileChange("M", f"src/harbour/berth{number}.py") for number in range(files)]
    told = CommitData("a" * 40, [], ANN, ANN, message, touched, delta)
    extract = extract_commit(Item(told.hash, 0, 0, "commit"), told.to_bytes())
    record = Record("project.git", told.hash, "commit", extract.title, 0, 0, "", "", facets=extract.facets)
    chunks = chunk_extract(extract, limits or ChunkLimits())
    text = commit_markdown(1, Hit(StoredChunk(1, chunks[0], record), 1.0, {}), [it.path for it in touched], chunks)
    found = re.search(r"### Delta \(truncated\)\n\n```diff\n(.*)\n```\n\n---$", text, re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("files", [0, 1, 60, 300])
@pytest.mark.parametrize("message", ["", "Subject", f"Subject\n\n{SENTENCE * 35}", f"Subject\n\n{SENTENCE * 80}"])
def test_the_delta_of_commits_short_and_long(message: str, files: int) -> None:
    assert shown(message, files) == DELTA


@pytest.mark.parametrize("files", [0, 60])
@pytest.mark.parametrize(
    "message", [QUOTED, f"Subject\n\n{QUOTED}", f"Subject\n\n{FAKED}", f"{SENTENCE * 50}\n\n{FAKED}"]
)
def test_a_diff_in_the_message_is_not_the_delta(message: str, files: int) -> None:
    assert shown(message, files) == DELTA
    assert shown(message, files, delta="") == ""


def test_chunks_of_any_length() -> None:
    assert shown(f"Subject\n\n{SENTENCE * 3}\n\n{FAKED}", 60, limits=ChunkLimits(60, 10)) == DELTA


def test_a_delta_that_goes_on_in_further_chunks() -> None:
    long = DELTA + "".join(f"\n+line {number}" for number in range(500))
    found = shown(f"Subject\n\n{SENTENCE * 30}", 1, long)
    assert found.startswith(long[:1000])
    assert found.endswith("\n... (truncated for display)")
