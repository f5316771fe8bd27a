"""The editor: applies a document of edits to a resume, all of them or none."""

from collections.abc import Generator
from dataclasses import dataclass

from mcp_tools.resume import Resume, ResumeError, edit

from .execution import ExecutionDoc
from .wording import say


@dataclass(frozen=True)
class Executed:
    """A resume after a document; with a failure it is the very one that was given."""

    resume: Resume
    failure: str | None = None


class EditorAgent:
    """Edits as the `cv` agent's editor does. Stateless."""

    def execute_doc(self, doc: ExecutionDoc, resume: Resume) -> Generator[str, None, Executed]:
        """Apply the edits one by one; yields a message for each, returns what has become of it."""
        edited, count = resume, len(doc.edits)
        for number, one in enumerate(doc.edits, 1):
            try:
                edited = edit(edited, one.path, one.action, one.value).resume
            except ResumeError as error:
                failure = error.message(doc.language)
                yield say()("rolled_back", doc.language, number=str(number), reason=failure)
                return Executed(resume, failure)
            place = {"number": str(number), "count": str(count), "path": one.path}
            yield say()(f"edited_{one.action}", doc.language, **place)
        return Executed(edited)
