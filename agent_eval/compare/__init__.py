"""Two results -> what changed between them: pure."""
