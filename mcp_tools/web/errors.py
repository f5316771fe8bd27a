"""Everything that can go wrong with a search or a page.

    WebError
    ├── WebConfigError                 a setting is wrong
    ├── SearchError
    │   ├── SearchNotConfiguredError   no provider is set up, or the chosen one is not
    │   ├── QueryError                 a query is empty or too long
    │   ├── SearchDeniedError          the provider does not accept the key
    │   ├── SearchQuotaError           the provider has been asked too often
    │   ├── SearchUnavailableError     the provider cannot be reached, or fails
    │   └── SearchAnswerError          the provider's answer makes no sense
    ├── PageError
    │   ├── UrlRefusedError            a URL is not one that may be fetched
    │   ├── AddressRefusedError        a URL leads to an address that may not be reached
    │   ├── RedirectError              a page leads on too often, or to nowhere
    │   ├── PageUnavailableError       the page cannot be had: no such host, an error status, time
    │   ├── PageTooLargeError          more bytes than are taken
    │   ├── PageTypeError              what was found is nothing to read
    │   └── PageUnreadableError        there is no text in it that could be found
    └── BusyError                      a host or provider is asked too often to wait for

`code` is stable. The message says what to do; it is meant for the model, so it holds no secrets.
"""

from typing import ClassVar


class WebError(Exception):
    """Base of all errors about the web."""

    code: ClassVar[str] = "web_error"


class WebConfigError(WebError):
    """Raised when a setting is wrong."""

    code = "web_config"


class SearchError(WebError):
    """Base of errors of a search."""

    code = "search_error"


class SearchNotConfiguredError(SearchError):
    """Raised when no provider is set up, or the chosen one lacks something."""

    code = "search_not_configured"


class QueryError(SearchError):
    """Raised when a query is empty or too long."""

    code = "query_refused"


class SearchDeniedError(SearchError):
    """Raised when a provider does not accept the key or the way it is asked."""

    code = "search_denied"


class SearchQuotaError(SearchError):
    """Raised when a provider has been asked too often."""

    code = "search_quota"

    def __init__(self, provider: str, *, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        when = "later" if retry_after_s is None else f"in {retry_after_s:.0f} s"
        super().__init__(f"{provider} has been asked too often: try again {when}")


class SearchUnavailableError(SearchError):
    """Raised when a provider cannot be reached, is too slow, or fails."""

    code = "search_unavailable"


class SearchAnswerError(SearchError):
    """Raised when a provider's answer makes no sense."""

    code = "search_answer"


class PageError(WebError):
    """Base of errors of a page."""

    code = "page_error"


class UrlRefusedError(PageError):
    """Raised when a URL is not one that may be fetched."""

    code = "url_refused"


class AddressRefusedError(PageError):
    """Raised when a URL leads to an address or a port that may not be reached."""

    code = "address_refused"

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"{host} port {port} is not on the public web: only public addresses on the usual "
            "ports are fetched"
        )


class RedirectError(PageError):
    """Raised when a page leads on too often, or to nowhere."""

    code = "redirect"


class PageUnavailableError(PageError):
    """Raised when a page cannot be had."""

    code = "page_unavailable"


class PageTooLargeError(PageError):
    """Raised when a page has more bytes, also once unpacked, than are taken."""

    code = "page_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"the page is larger than {limit} bytes, so it is not read")


class PageTypeError(PageError):
    """Raised when what was found is nothing to read, such as an image."""

    code = "page_type"


class PageUnreadableError(PageError):
    """Raised when no text can be found in a page."""

    code = "page_unreadable"


class BusyError(WebError):
    """Raised when the wait for a turn would be too long."""

    code = "busy"

    def __init__(self, name: str, wait_s: float) -> None:
        self.retry_after_s = wait_s
        super().__init__(f"{name} is asked too often just now: try again in {wait_s:.0f} s")
