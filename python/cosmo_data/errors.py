"""The one exception that reading raises, and how others become it."""

import contextlib


class DataError(Exception):
    """A file is missing, damaged or of another kind. The message names the file and the remedy."""


@contextlib.contextmanager
def parsing(path, kind, remedy="rerun its stage with --force"):
    """Whatever its block raises becomes a DataError of this file; the block must do nothing but parse it."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path} is not a readable {kind} ({error!r}): restore it or {remedy}.") from error
