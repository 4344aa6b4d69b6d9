"""Results shown: reporters read results and records, and compute nothing."""
