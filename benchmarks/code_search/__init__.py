"""Searching code: what building, asking and following changes cost on real code bases, beside ripgrep."""
