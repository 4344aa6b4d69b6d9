"""The command line: the only place that prints, exits, or starts an event loop."""
