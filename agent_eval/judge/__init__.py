"""The model behind a judged metric."""
