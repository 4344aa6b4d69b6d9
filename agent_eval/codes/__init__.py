"""Every code that causes and findings have, and what it means."""
