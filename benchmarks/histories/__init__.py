"""How quickly the history of a repository is indexed, what it takes, and how quickly it is searched."""
