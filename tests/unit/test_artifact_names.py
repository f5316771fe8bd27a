"""Names that artifacts may have."""

import pytest

from oda.errors import InvalidRequestError
from oda.session.artifacts import check_artifact_name


@pytest.mark.parametrize(
    "name",
    ["a", "a.txt", "文件.pdf", "a b.txt", "folder/deep/er.txt", "user:a", "user:a/b", "..a", "%2e"],
)
def test_ordinary_names_are_allowed(name: str) -> None:
    check_artifact_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "user:", "/", "/etc/passwd", "a/", "a//b", "user:/etc/passwd"),
        *("..", ".", "../a", "a/..", "a/../b", "a/./b", "user:..", "user:../a", ". .", " a", "a "),
        *("a\\b", "..\\a", "C:\\a", "a\x00b", "a\nb", "a\r\nSet-Cookie: x", "\u202egpj.exe"),
        *("versions", "a/Versions/0", "metadata.json", "a/METADATA.json", "versions.", "a/b."),
        *("x" * 201, "文" * 67, "/".join("abcdefghijklmnopq"), "a/" * 300 + "a"),
    ],
)
def test_names_that_mean_something_to_a_file_system_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        check_artifact_name(name)
