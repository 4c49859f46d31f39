"""The one exception that reading raises."""


class DataError(Exception):
    """A file is missing, damaged or of another kind. The message names the file and the remedy."""
