"""Who looks after whom, as the settings say: parents and children by their user ids."""

from collections.abc import Mapping
from functools import cache

from ..settings import Parent, companion_settings

_EVERYBODY = "*"


class Families:
    """Parents and their children.

    Args:
        parents: By user id; empty where there are no roles.
    """

    def __init__(self, parents: Mapping[str, Parent]) -> None:
        self._parents = parents

    def __bool__(self) -> bool:
        """Return whether there are roles at all."""
        return bool(self._parents)

    def is_parent(self, user_id: str) -> bool:
        return user_id in self._parents

    def children_of(self, user_id: str) -> tuple[str, ...]:
        """Return the children of a user that the settings name."""
        parent = self._parents.get(user_id)
        return tuple(one for one in parent.children if one != _EVERYBODY) if parent else ()

    def looks_after(self, user_id: str, child_id: str) -> bool:
        """Return whether a user is a parent of a child."""
        parent = self._parents.get(user_id)
        if parent is None:
            return False
        is_anybody = _EVERYBODY in parent.children and not self.is_parent(child_id)
        return child_id in parent.children or is_anybody

    def parents_of(self, child_id: str) -> Mapping[str, Parent]:
        """Return the parents of a child."""
        return {
            user_id: parent
            for user_id, parent in self._parents.items()
            if self.looks_after(user_id, child_id)
        }


@cache
def families() -> Families:
    """The families of this process.

    Raises:
        pydantic.ValidationError: the settings are wrong.
    """
    return Families(companion_settings().parents)
