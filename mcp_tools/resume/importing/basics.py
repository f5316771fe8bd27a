"""Personal data: the lines at the top of a resume, and contact data."""

import re
from collections.abc import Sequence

from pydantic import JsonValue

from mcp_tools.resume.document import JsonObject

from .entries import label_of
from .heads import is_firm, is_place, is_role, take_url
from .lines import Line, clean, display_width, is_cjk
from .sections import is_title, size_of
from .vocabulary import labelled_fields, vocabulary

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}")
_PHONE = re.compile(
    r"(?<![\w/.-])(?:\+|00|[(（]\+?)?\d[\d\s().（）/–-]{6,20}\d(?![\w@])(?:\s*(?:ext\.?|x)\s*\d{1,6})?"
)
_PIECES = re.compile(
    r"\s*[\t|｜¦]+\s*|\s*[•∙‧⋅◆■●▪]\s*|\s+[·/–—-]\s+|\s*[;；]\s*|(?<=[\u4e00-\u9fff\d])\s*·\s*(?=[\u4e00-\u9fff\d])|\s+(?=[^\s:：]{1,10}[:：](?!//))"
)
_CJK_SPACES = re.compile(r"\s+(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])\s+")
_NETWORK = re.compile(
    r"(?:https?://)?(?:[\w-]+\.)?(github|gitlab|gitee|linkedin|twitter|x|stackoverflow|medium|kaggle"
    r"|zhihu|juejin|csdn|facebook|instagram|behance|dribbble|weibo|orcid|bilibili|xing)"
    r"\.(?:com|cn|io|net|org)/(?:in/|u/|users/|people/|user/|profile/)?@?([\w.%~-]+)",
    re.IGNORECASE,
)
_NAMES = {
    "github": "GitHub",
    "gitlab": "GitLab",
    "linkedin": "LinkedIn",
    "wechat": "WeChat",
    "qq": "QQ",
    "csdn": "CSDN",
    "stackoverflow": "Stack Overflow",
    "zhihu": "知乎",
    "juejin": "掘金",
    "orcid": "ORCID",
    "x": "X",
}
_TITLE_WORDS = re.compile(
    r"(?:的)?(?:个人|求职)?简历$|\b(?:resume|résumé|curriculum vitae|cv)\b(?:\s+of\b|\s+for\b)?",
    re.IGNORECASE,
)

_LATIN_NAME = re.compile(
    r"(?:(?:Dr|Prof|Mr|Ms|Mrs)\.? )?[^\W\d_][\w.'’-]*(?: [^\W\d_(][\w.'’()-]*){0,4}"
    r"(?:, (?:Ph\.?D\.?|MBA|CPA|PMP|M\.?D\.?|Jr\.?))*"
)
_CHINESE_NAME = re.compile(
    r"[\u4e00-\u9fff]{2,4}|[\u4e00-\u9fff](?: [\u4e00-\u9fff]){1,3}"
    r"|[\u4e00-\u9fff]{2,6}·[\u4e00-\u9fff]{2,6}"
)
_CODED_REGION = re.compile(r"([A-Z]{2})\s+(\d{5}(?:-\d{4})?)")
_UNFITTING = re.compile(
    r"\d{1,2}岁|\d+\s*年.*经验|工作经验|\d{4}\s*年(?:\d{1,2}月)?(?:出生|生)?|(?:月薪|薪资).*|\d+-\d+\s*k",
    re.IGNORECASE,
)


class BasicsReader:
    """Collects what the lines at the top say; what has no place in a resume is in `unplaced`."""

    def __init__(self) -> None:
        self.found: JsonObject = {}
        self.unplaced: list[str] = []
        self._prose: list[str] = []
        self._profiles: list[JsonValue] = []

    def read(self, lines: Sequence[Line]) -> None:
        """Read the lines of one block."""
        for line in self._name_first(lines):
            text = line.text
            if is_title(text):
                continue
            label = label_of(text, "basics")
            if label and label[0] == "summary":
                self._prose.append(label[1])
            elif label is None and self._is_prose(text):
                self._prose.append(text)
            else:
                self._read_pieces(text)

    def result(self, summary: Sequence[str] = ()) -> JsonObject:
        """Return what was found as JSON Resume's `basics`."""
        prose = [text for text in (*self._prose, *summary) if text]
        if prose:
            self.found["summary"] = "\n".join(prose)
        if self._profiles:
            self.found["profiles"] = self._profiles
        order = ("name", "label", "email", "phone", "url", "summary", "location", "profiles")
        return {key: self.found[key] for key in order if key in self.found}

    def _name_first(self, lines: Sequence[Line]) -> list[Line]:
        """Take the name to the front when it is in greater letters than what is before it."""
        if "name" in self.found or not lines:
            return list(lines)
        greatest = max(lines, key=lambda line: 0 if is_title(line.text) else size_of(line.style))
        if not size_of(greatest.style):
            return list(lines)
        return [greatest, *(line for line in lines if line is not greatest)]

    def _is_prose(self, text: str) -> bool:
        long = display_width(text) > 90 or bool(re.search(r"[。！]|[^.]{25,}\.$", text))
        contact = _EMAIL.search(text) or _PHONE.search(text) or take_url(text)[1]
        return long and not contact and "\t" not in text and "|" not in text

    def _read_pieces(self, text: str) -> None:
        label = label_of(text, "basics")
        if label and label[0] in ("location", "label", "name") and not _PIECES.search(label[1]):
            self._labelled(*label)
            return
        text = self._take_contacts(text)
        for piece in _PIECES.split(text):
            bare = _without_brackets(piece.strip(" ,，.·|/<>-–—"))
            if any(sign.isalnum() for sign in bare) and not _is_bare_label(bare):
                self._read_piece(bare)

    def _take_contacts(self, text: str) -> str:
        """Take addresses and numbers out of a line, each with its label."""
        if "email" not in self.found and (match := _EMAIL.search(text)):
            self.found["email"] = match[0]
            text = self._without(text, match)
        text, url = take_url(text)
        while url:
            self._add_url(url)
            text = _drop_label(text)
            text, url = take_url(text)
        match = _PHONE.search(text)
        if (
            match
            and _digits(match[0])
            and "phone" not in self.found
            and not self._is_other_number(text)
        ):
            self.found["phone"] = match[0].strip()
            text = self._without(text, match)
        return text

    def _without(self, text: str, match: re.Match[str]) -> str:
        return f"{_drop_label(text[: match.start()])}\t{text[match.end() :]}"

    def _is_other_number(self, text: str) -> bool:
        label = label_of(text, "basics")
        if label and label[0] == "phone":
            return False
        return (
            bool(re.search(r"(?:微信|qq|wechat|出生|生日|birth)", text, re.IGNORECASE))
            and not label
        )

    def _add_url(self, url: str) -> None:
        match = _NETWORK.match(url)
        if match:
            name = match[1].lower()
            profile: JsonObject = {
                "network": _NAMES.get(name, match[1].capitalize()),
                "username": match[2],
                "url": url,
            }
            if profile not in self._profiles:
                self._profiles.append(profile)
        elif "url" not in self.found:
            self.found["url"] = url
        elif self.found["url"] != url:
            self.unplaced.append(url)

    def _read_piece(self, piece: str) -> None:
        label = label_of(piece, "basics") or _spaced_label(piece)
        if label:
            self._labelled(*label)
            return
        name, _, value = (part.strip() for part in re.sub("：", ":", piece, count=1).partition(":"))
        if name.lower() in labelled_fields("networks"):
            self._add_account(name, value)
        elif name.lower() in labelled_fields("unplaceable") and value:
            self.unplaced.append(piece)
        else:
            self._unlabelled(piece)

    def _labelled(self, field: str, value: str) -> None:
        value = value.strip(" ,，|")
        if not value:
            return
        if field in ("email", "phone", "url"):
            self._take_labelled_contact(field, value)
        elif field == "location":
            self.found.setdefault("location", _location(value))
        elif field in self.found:
            if self.found[field] != value:
                self.unplaced.append(value)
        else:
            self.found[field] = clean(value)

    def _take_labelled_contact(self, field: str, value: str) -> None:
        if (field == "email" and not _EMAIL.fullmatch(value)) or self.found.setdefault(
            field, value
        ) != value:
            self.unplaced.append(value)

    def _add_account(self, network: str, value: str) -> None:
        if value:
            shown = _NAMES.get(network.lower(), network)
            self._profiles.append({"network": shown, "username": value})

    def _unlabelled(self, piece: str) -> None:
        words = vocabulary()
        if "name" not in self.found and is_name(
            bare := _TITLE_WORDS.sub("", piece).strip(" -–—的:：")
        ):
            self.found["name"] = bare.replace(" ", "") if is_cjk(bare[0]) else bare
        elif is_place(piece):
            if "location" in self.found:
                self.unplaced.append(piece)
            self.found.setdefault("location", _location(piece))
        elif piece.lower() in words.not_names or _UNFITTING.fullmatch(piece):
            self.unplaced.append(piece)
        elif "label" not in self.found and self._could_be_label(piece):
            self.found["label"] = piece
        elif (len(parts := _CJK_SPACES.split(piece)) > 1 and "name" in self.found) or (
            len(parts) > 1 and is_name(parts[0])
        ):
            for part in parts:
                self._unlabelled(part)
        else:
            self.unplaced.append(piece)

    def _could_be_label(self, piece: str) -> bool:
        short = display_width(piece) <= 70 and not re.search(r"\d{3}", piece)
        plain = not is_firm(piece) and len(piece) > 2 and len(_CJK_SPACES.split(piece)) == 1
        return short and (is_role(piece) or plain) and "name" in self.found


def is_name(text: str) -> bool:
    """Tell whether a text could be a person's name."""
    if not text or text.lower() in vocabulary().not_names or is_place(text):
        return False
    if _CHINESE_NAME.fullmatch(text):
        return not is_role(text)
    if not _LATIN_NAME.fullmatch(text) or display_width(text) > 50 or is_role(text):
        return bool(
            re.fullmatch(r"[\u4e00-\u9fff]{2,4}\s*[(（]?[A-Za-z][A-Za-z .'-]{1,30}[)）]?", text)
        ) and not is_role(text)
    return text[0].isupper() and all(word[:1].isupper() or len(word) <= 3 for word in text.split())


def _without_brackets(text: str) -> str:
    """Take off brackets around the whole of a text, or that have lost their partner."""
    if text[:1] in "(（" and (text[-1:] in ")）" or not re.search("[)）]", text)):
        text = text[1:]
    if text[-1:] in ")）" and not re.search("[(（]", text):
        text = text[:-1]
    return text.strip()


def _spaced_label(text: str) -> tuple[str, str] | None:
    """Split "Location Berlin, Germany" as tables at the side write it."""
    name, _, value = text.partition(" ")
    is_location = labelled_fields("basics").get(name.lower()) == "location"
    return ("location", value) if is_location and is_place(value) else None


def _is_bare_label(text: str) -> bool:
    bare = text.strip(" :：").lower()
    return bare in labelled_fields("basics") or bare in labelled_fields("networks")


def _drop_label(text: str) -> str:
    """Take a label off the end of what stands before a value."""
    return re.sub(
        r"(?:^|(?<=[\t|｜·•;；,，/ ]))[^\t|｜·•;；,，/:：]{1,20}[:：]\s*$|[(（<]\s*$", "", text
    )


def _digits(text: str) -> bool:
    return 7 <= sum(sign.isdigit() for sign in text) <= 16


def _location(text: str) -> JsonObject:
    parts = [part.strip() for part in re.split(r"[,，]", text) if part.strip()]
    if (
        len(parts) > 3
        or (len(parts) > 1 and re.search(r"\d", parts[0]))
        or display_width(text) > 40
    ):
        return {"address": text}
    place: JsonObject = {"city": parts[0]}
    if len(parts) > 1 and parts[-1] in _country_codes(len(parts)):
        place["countryCode"] = parts.pop()
    if len(parts) > 1 and (coded := _CODED_REGION.fullmatch(parts[-1])):
        parts[-1], place["postalCode"] = coded.groups()
    if len(parts) > 1:
        place["region"] = ", ".join(parts[1:])
    if re.search(r"[路街号弄]", text) and is_cjk(text[-1]):
        return {"address": text}
    return place


def _country_codes(parts: int) -> frozenset[str]:
    """Return the codes that mean a country: at the end of two parts, only those of no US state."""
    codes = vocabulary().country_codes
    return codes if parts > 2 else codes - vocabulary().states
