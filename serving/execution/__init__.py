"""How requests reach the session: each alone, or in batches of several clients' rows."""
