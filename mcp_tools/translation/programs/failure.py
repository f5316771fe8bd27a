"""Why a file cannot be translated."""


class UnreadableError(Exception):
    """Raised with a code: `encrypted`, `broken`, `mislabelled`, `too_large` or `unsafe`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
