"""Whether an index is sound, and how its parts are made anew."""
