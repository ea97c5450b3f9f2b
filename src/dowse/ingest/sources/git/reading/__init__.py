"""Commits one after another, as git processes tell them."""
