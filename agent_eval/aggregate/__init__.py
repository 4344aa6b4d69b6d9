"""Run outcomes -> verdicts: pure, and the same in whatever order runs finished."""
