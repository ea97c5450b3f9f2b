"""What is checked out of a repository: its files against the last commit, and who wrote their lines."""
