"""Who plays the user."""
