"""Bad input for every reader of files. `python -m tests.fuzz` prints the counts."""
