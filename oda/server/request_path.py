"""Paths of requests, relative to where the application is mounted."""

from starlette.types import Scope

UNKNOWN = "(none)"

_ROOT = "oda_root"


def mount_path(scope: Scope) -> str:
    """Return the path at which the application is mounted, such as `/oda`.

    Empty if it is not mounted.

    It is stored in the scope when first called, because inner routers extend `root_path`.
    """
    if _ROOT not in scope:
        scope[_ROOT] = scope.get("root_path", "").rstrip("/")
    root: str = scope[_ROOT]
    return root


def path_of(scope: Scope) -> str:
    """Return the path below the application, such as `/v1/apps`."""
    path: str = scope["path"]
    below = path.removeprefix(mount_path(scope))
    return below if below.startswith("/") else path


def route_template(scope: Scope) -> str:
    """Return the path template, such as `/v1/turns/{tid}`; `UNKNOWN` before routing.

    A route knows its path only relative to its router, so the prefix is taken from the request's
    path.
    """
    template = getattr(scope.get("route"), "path_format", None)
    if template is None:
        return UNKNOWN
    tail = template.format_map(scope.get("path_params", {}))
    path = path_of(scope)
    return f"{path.removesuffix(tail)}{template}" if path.endswith(tail) else str(template)
