"""The exceptions for problems that the user can fix."""


class InputError(ValueError):
    """Wrong input: a file, a flag, a vocabulary, a checkpoint.

    The message says what was checked, what was found, what was wanted and how to fix it.
    The scripts print it without a traceback and exit with status 2.
    """


class UnfinishedError(InputError):
    """Work stopped for a reason outside its input; the same command continues it."""


class DiskFullError(UnfinishedError):
    """The disk is full; the message says what is kept."""
