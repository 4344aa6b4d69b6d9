"""Results on disk: the journal of run records, and the summary derived from it."""
