"""How much may be asked of whom, and what to do when they say that it was too much."""
