"""Public labelled sets: what they are, where their corpora come from, and how their authors measure."""
