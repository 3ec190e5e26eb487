"""What an operator sees: metrics, and the log of requests."""
