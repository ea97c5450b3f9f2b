"""Exact answers about memories: how they follow each other, what they share, and what they speak of."""
