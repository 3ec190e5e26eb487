"""The one exception for what a user can put right."""


class InputError(ValueError):
    """Wrong input: a file, a flag, a vocabulary, a checkpoint.

    The message says what was checked, what was found, what was wanted and the way out.
    The scripts print it without a traceback and exit with status 2.
    """


class UnfinishedError(InputError):
    """Work stopped for a reason outside of its input; the same command goes on with it."""
