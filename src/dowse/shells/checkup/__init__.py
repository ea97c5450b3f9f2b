"""Everything `dowse doctor` looks at, and what it can do about it."""
