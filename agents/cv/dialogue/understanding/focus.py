"""The topic of the conversation: the place that was added, changed or read last."""

from dataclasses import dataclass

from mcp_tools.resume import SECTIONS, Path, Section

from .vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Focus:
    """A section, an entry of it, or a field: of an entry or of the basics.

    `undone` says that what was done there last was taken back, `taken` that this
    was deleting an entry.
    """

    section: Section
    index: int | None = None
    field: str | None = None
    undone: bool = False
    taken: bool = False

    @classmethod
    def at(cls, path: str, *, undone: bool = False) -> "Focus | None":
        """Return the focus on a path; None for the whole resume."""
        place = Path.parse(path)
        section = next((name for name in SECTIONS if name == place.section), None)
        if section is None:
            return None
        steps = place.steps[1:]
        index = steps[0] if steps and isinstance(steps[0], int) else None
        field = next((step for step in steps if isinstance(step, str)), None)
        return cls(section, index, field, undone)

    def names(self, name: str) -> bool:
        """Tell whether a name is such a word."""
        references = vocabulary().references
        return any(form.fullmatch(name.strip()) for form in (references.back, references.this))

    def mentions(self, text: str) -> list[tuple[int, int]]:
        """Return where a text points back at an entry: "it", "那条", "that project"."""
        if self.index is None:
            return []
        nouns = vocabulary().sections[self.section].nouns
        references = vocabulary().references
        return [
            *(match.span() for match in references.back.finditer(text)),
            *(
                match.span()
                for match in references.this.finditer(text)
                if nouns.match(text, _after_spaces(text, match.end()))
            ),
        ]


def _after_spaces(text: str, begin: int) -> int:
    return begin + len(text[begin:]) - len(text[begin:].lstrip())
