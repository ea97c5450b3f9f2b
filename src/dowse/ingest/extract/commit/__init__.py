"""Commits: what was said, who did it, what was touched, which definitions were changed."""

from dowse.ingest.extract.commit.extract import extract_commit

__all__ = ["extract_commit"]
