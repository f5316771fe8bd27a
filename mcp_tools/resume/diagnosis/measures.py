"""Detection of measured results, sizes and amounts in a text."""

import re

from mcp_tools.resume.dates import DATE_PATTERN

from .vocabulary import names, words

_TIME = re.compile(
    rf"{DATE_PATTERN}|(?<!\d)(?:19|20)\d\d(?:年|(?!\d|[\d,.]*\s?[%a-z个人万]))", re.IGNORECASE
)
_UNITS = (
    "%|x|s|ms|us|min|mins|h|hr|hrs|d|k|w|m|mm|cm|km|kg|g|mg|t|l|ml|mn|bn|gb|tb|mb|pb|kb|gbps|mbps"
    "|qps|tps|rps|fps|usd|eur|gbp|rmb|kw|kwh|mw|st|nd|rd|th|ng"
)
_FIGURE = re.compile(
    rf"(?<![a-z\d_.#])[$€£¥]?\d[\d,.]*"
    rf"(?:(?:{_UNITS})(?![a-z\d])|\+?(?![a-z\d_-]|\.\d)|-(?!\d*[a-z]\b))",
    re.IGNORECASE,
)
_LONGEST_NAME = 20


def measures(text: str) -> bool:
    """Tell whether a text measures something; years, versions and names like "B2B" do not."""
    said = words().no_measures.sub(" ", _TIME.sub(" ", text))
    if words().measure.search(said):
        return True
    return any(not _is_version(said[: match.start()]) for match in _FIGURE.finditer(said))


def _is_version(before: str) -> bool:
    """Return whether a figure follows the name of a technology: "Vue 3"."""
    named = re.search(r"([A-Za-z][\w.+#-]*)[ -]?$", before[-_LONGEST_NAME:])
    return bool(named and names().is_known(named[1]))
