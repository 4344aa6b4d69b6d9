"""agent-eval runs evaluation sets against AI agents."""
