"""Real agent programs, run offline against a scripted model: whether the model sees the tools and the whole answer."""
