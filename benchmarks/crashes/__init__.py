"""Kills at random moments, and what must be true after each of them."""
