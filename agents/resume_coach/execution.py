"""The document that the guide hands to the editor."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume import Language
from mcp_tools.resume.diagnosis import ProposedEdit, telling_texts


class ExecutionDoc(BaseModel):
    """The edits of one task, which are made together or not at all."""

    model_config = ConfigDict(frozen=True)

    task: str
    edits: tuple[ProposedEdit, ...]
    language: Language

    def text(self) -> str:
        """The texts that it would write, as one."""
        return " / ".join(telling_texts(self.edits))

    def with_values(self, values: Mapping[str, JsonValue]) -> "ExecutionDoc":
        """The same with a person's own values, by their paths.

        A value for a place that is not edited is one edit more.
        """
        own = [
            one.model_copy(update={"value": values.get(one.path, one.value)}) for one in self.edits
        ]
        places = {one.path for one in self.edits}
        more = [
            ProposedEdit(path=path, action="update", value=value)
            for path, value in values.items()
            if path not in places
        ]
        return self.model_copy(update={"edits": (*own, *more)})
