"""Files in a conversation on the terminal: `/attach FILE`, `/save NAME [PATH]`."""

from pathlib import Path

from google.genai.types import Blob, Content, Part

from oda.cli.conversation import Conversation
from oda.cli.screen import Screen
from oda.errors import OdaError
from oda.message.content import Message
from oda.workspace.media_types import media_type

_ATTACH, _SAVE = "/attach", "/save"
_LARGEST = 20 * 2**20
"""Bytes of a file that is attached."""


class ChatFiles:
    """Carries out the commands about files; files that are attached go with the next message."""

    def __init__(self, conversation: Conversation, screen: Screen) -> None:
        self._conversation = conversation
        self._screen = screen
        self._attached: list[Part] = []

    def carry_out(self, line: str) -> bool | None:
        """Carry out a command and return whether it succeeded; None if the line is a message."""
        command, _, rest = line.strip().partition(" ")
        if command not in (_ATTACH, _SAVE):
            return None
        try:
            if command == _ATTACH:
                self._attach(_unquoted(rest))
            else:
                self._save(rest.strip())
        except (OSError, OdaError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._screen.error(f"{line.strip()}: {reason or error}")
            return False
        return True

    def message(self, text: str) -> Message:
        """Return a message with the files that have been attached since the last one."""
        parts, self._attached = self._attached, []
        return Content(role="user", parts=[Part(text=text), *parts]) if parts else text

    def _attach(self, name: str) -> None:
        if not name:
            raise ValueError("name a file, as in /attach resume.pdf")
        path = Path(name).expanduser()
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"the file is larger than {_LARGEST:,} bytes")
        data = path.read_bytes()
        if not data:
            raise ValueError("the file is empty")
        blob = Blob(data=data, mime_type=media_type(path.name), display_name=path.name)
        self._attached.append(Part(inline_data=blob))
        self._screen.note(f"attached to the next message: {path.name} ({len(data):,} bytes)")

    def _save(self, wanted: str) -> None:
        names = self._conversation.file_names()
        if not wanted:
            self._screen.note("files: " + (", ".join(names) or "none"))
            return
        found = (name for name in sorted(names, key=len, reverse=True) if _begins(wanted, name))
        name = next(found, None)
        if name is None:
            known = ", ".join(names) or "none"
            raise ValueError(f"there is no such file in this session; there are: {known}")
        rest = _unquoted(wanted.replace('"', "").removeprefix(name))
        own = name.rpartition("/")[2].removeprefix("user:")
        path = Path(rest).expanduser() if rest else Path(own)
        path = path / own if path.is_dir() else path
        data = self._conversation.file(name)
        with path.open("xb") as file:  # never overwrites
            file.write(data)
        self._screen.note(f"saved: {path} ({len(data):,} bytes)")


def _begins(wanted: str, name: str) -> bool:
    """Return whether a command's words begin with a name, which may have blanks in it."""
    plain = wanted.replace('"', "")
    return plain == name or plain.startswith(f"{name} ")


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'")
