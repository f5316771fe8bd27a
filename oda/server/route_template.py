"""Which route answered a request, without the ids in its path."""

from starlette.types import Scope

UNKNOWN = "(none)"


def route_template(scope: Scope) -> str:
    """Such as `/v1/turns/{tid}`, once the request has been routed; else `UNKNOWN`.

    A route knows its path only from its router on, so what stands before it is taken from the
    request's path.
    """
    template = getattr(scope.get("route"), "path_format", None)
    if template is None:
        return UNKNOWN
    tail = template.format_map(scope.get("path_params", {}))
    path: str = scope["path"]
    return f"{path.removesuffix(tail)}{template}" if path.endswith(tail) else str(template)
