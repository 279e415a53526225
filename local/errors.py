"""What stops a local command with one line instead of a traceback."""


class LocalError(Exception):
    """Something the local stack needs is missing, wrong or has ended; the message says what and what to do."""
