"""Where runs are made: in this process, in worker processes."""
