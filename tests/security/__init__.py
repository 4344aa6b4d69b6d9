"""What docs/security.md says, tried."""
