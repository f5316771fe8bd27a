"""Why a binary file could not be read; not in `reader`, which runs as `__main__`."""


class ReadError(Exception):
    """Raised when a file cannot be read, with a code that the parent process understands."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
