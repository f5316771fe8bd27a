"""Everything that can be wrong with a request about recitation.

    RecitationError
    ├── EmptyTextError      the text to recite holds no words
    ├── TextTooLongError    a text is longer than can be compared
    └── UnknownTextError    the library does not have the text that was asked for

`code` is stable. The message says what to do; it is meant for who calls, not for the child.
"""

from typing import ClassVar


class RecitationError(Exception):
    """Base of all errors about recitation."""

    code: ClassVar[str] = "recitation_error"


class EmptyTextError(RecitationError):
    """Raised when there is nothing to recite in the expected text."""

    code = "empty_text"

    def __init__(self) -> None:
        super().__init__("the expected text holds no words: give the text that is to be recited")


class TextTooLongError(RecitationError):
    """Raised when a text has more units, or more characters, than can be compared."""

    code = "text_too_long"

    def __init__(self, *, length: int, limit: int, measure: str) -> None:
        self.length, self.limit = length, limit
        super().__init__(
            f"the text has {length} {measure}, {limit} can be compared: recite it in parts"
        )


class UnknownTextError(RecitationError):
    """Raised when no text of the library has this title or first line."""

    code = "unknown_text"

    def __init__(self, title: str) -> None:
        self.title = title
        super().__init__(
            f"no text is known as {title!r}: give its usual title or its first line, "
            "or send the text itself"
        )
