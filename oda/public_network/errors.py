"""Why an address is not reached."""


class AllowanceError(ValueError):
    """Raised when an exception to the public addresses names no place."""


class UrlNotPlainError(ValueError):
    """Raised when a URL is not plainly `http://host/…` or `https://host/…`."""


class AddressNotAllowedError(Exception):
    """Raised when a host leads to no address that may be reached."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{host} port {port} leads to no address that may be reached")
        self.host = host
        self.port = port


class UnknownHostError(Exception):
    """Raised when a host has no address."""

    def __init__(self, host: str) -> None:
        super().__init__(f"there is no host {host!r}")
