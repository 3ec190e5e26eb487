"""The kinds of tasks, a file each: what answers are."""
