"""Evidence shown in an article: what was not found is marked, and passages stand at its end."""

from collections.abc import Sequence

from mcp_tools.publishing.tree import Element

from .pages import Page, address
from .proof import Claim, Contradiction, Proof
from .statements import EVIDENCE_ID

_WORDS = {
    "en": {
        "evidence": "Evidence",
        "missing": "[not found in the sources: {what}]",
        "not_read": "(not read)",
        "disagree": "Sources disagree",
        "says": "{title} says: “{quotation}”",
    },
    "zh": {
        "evidence": "依据",
        "missing": "〔来源中未找到：{what}〕",
        "not_read": "（未读取）",
        "disagree": "来源之间有矛盾",
        "says": "{title}称：“{quotation}”",
    },
}
_MOST_SHOWN = 100
_LONGEST_QUOTATION = 400


def show_evidence(root: Element, proof: Proof, pages: Sequence[Page], language: str) -> None:
    """Mark what is not proven, take out links to pages that were not read, and add the evidence."""
    words = _WORDS["zh" if language.startswith("zh") else "en"]
    for one in proof.unproven:
        missing = words["missing"].format(what=", ".join(one.what))
        block = one.statement.block
        if missing not in block.text():
            block.children += [" ", Element("span", {"class": "note"}, [missing])]

    read = {address(url) for page in pages for url in (page.url, page.final_url or page.url)}
    read |= {address(one.source) for one in proof.claims if one.source}

    def only_read(element: Element) -> Element:
        link = element.attributes.get("href", "")
        if element.tag != "a" or not link.startswith("http"):
            return element
        if address(link) in read:
            return element
        return Element("span", {"class": "note"}, [*element.children, f" {words['not_read']}"])

    def without_evidence(element: Element) -> Element | None:
        return None if element.attributes.get("id") == EVIDENCE_ID else element

    root.replace(without_evidence)
    root.replace(only_read)
    shown = list(_shown(proof, words))
    if shown:
        details = Element(
            "details", {"id": EVIDENCE_ID}, [Element("summary", {}, [words["evidence"]])]
        )
        details.children += shown
        root.children.append(details)


def _shown(proof: Proof, words: dict[str, str]) -> list[Element]:
    shown: list[Element] = []
    if proof.contradictions:
        items = [_disagreement(one, words) for one in proof.contradictions]
        shown += [Element("h3", {}, [words["disagree"]]), Element("ul", {}, [*items])]
    found = [one for one in proof.claims if one.found][:_MOST_SHOWN]
    if found:
        shown.append(Element("ol", {}, [_item(one) for one in found]))
    return shown


def _item(claim: Claim) -> Element:
    return Element("li", {}, [claim.claim, Element("br"), *_quoted(claim)])


def _quoted(claim: Claim) -> list[Element | str]:
    quotation = (claim.quotation or "")[:_LONGEST_QUOTATION]
    source = claim.source or ""
    name = claim.title or source
    link = Element("a", {"href": source, "target": "_blank"}, [name])
    shown: Element | str = link if source.startswith("http") else name
    return [Element("q", {}, [quotation]), " ", shown, f", {claim.date[:10]}" if claim.date else ""]


def _disagreement(one: Contradiction, words: dict[str, str]) -> Element:
    said = [
        words["says"].format(title=claim.title or claim.source, quotation=claim.quotation)
        for claim in (one.one, one.other)
    ]
    return Element("li", {}, ["; ".join(said)])
