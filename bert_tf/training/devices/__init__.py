"""Distribution strategies, TPUs, and the processes of a run."""
