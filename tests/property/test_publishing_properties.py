"""No text, however hostile, makes a page or a cover that runs or loads something."""

from html import escape
from typing import Any

from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.publishing.cover import cover_svg
from mcp_tools.publishing.errors import PublishingError
from mcp_tools.publishing.html import make_page
from mcp_tools.publishing.typesetting import balanced, one_line, shortened, text_width, wrap
from tests.support.pages import PNG, faults, svg_faults

_PIECES = r"""<script>alert(1)</script>
<script src=//evil.example>
<img src=x onerror=alert(1)>
<img src=//evil.example/x srcset="//evil.example 1x">
<img src="data:text/html,<script>x</script>">
<img src="data:image/svg+xml,<svg/onload=alert(1)>">
<svg onload=alert(1)>
</svg>
<svg><script>alert(1)</script>
<svg><style>@import '//evil.example'</style>
<foreignObject><p>
<use href="//evil.example#x">
<image xlink:href="//evil.example/x">
<rect fill="url(//evil.example#x)" style="fill:url(//evil.example)"/>
<set attributeName=href to=javascript:alert(1)>
<a xlink:href="javascript:alert(1)">
<a href="javascript:alert(1)">
<a href=" java&#10;script:alert(1)">
<a href='vbscript:x' ping=//evil.example>
</a>
<iframe src=//evil.example>
<base href=//evil.example>
<meta http-equiv=refresh content="0;url=//evil.example">
<link rel=stylesheet href=//evil.example>
<style>@import '//evil.example'</style>
<p style="background:url(//evil.example);position:fixed">
<form action=//evil.example><input autofocus onfocus=alert(1)>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src onerror=alert(1)&gt;">
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<object data=//evil.example><embed src=//evil.example>
<video src=//evil.example poster=//evil.example>
<body onload=alert(1) background=//evil.example>
<template>
</template>
<title>
</title>
<textarea>
</textarea>
<plaintext>
<xmp>
<select><option>
<table><tr><td>
</table>
<html>
<!--
-->
<![CDATA[
]]>
<?xml version="1.0"?>
```html
```
# title
[a](javascript:alert(1))
![a](//evil.example)
&lt;script&gt;
&#x3c;img src=x&#x3e;
"
'
>
<
<h1>
</h1>
<p>
</p>
<pre><code>
标题"""
PIECES = st.sampled_from(_PIECES.splitlines())
HOSTILE = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=14).map("\n".join)
DRAWING = HOSTILE.map(
    lambda inner: f'<svg xmlns:xlink="http://www.w3.org/1999/xlink">{inner}</svg>'
)


@given(HOSTILE, DRAWING.map(str.encode), HOSTILE)
def test_page_runs_nothing_and_loads_nothing(written: str, file: bytes, title: str) -> None:
    files: dict[str, bytes] = {"x": file, "y": PNG}
    try:
        page = make_page(f"{written}<img src=x>", resolve=files.get, files=["x"], title=title)
    except PublishingError:
        return
    assert faults(page.html) == []
    assert f"<title>{escape(page.title)}</title>" in page.html
    assert len(page.title) <= 200 and len(page.summary) <= 300


@given(DRAWING)
def test_drawing_only_draws(written: str) -> None:
    try:
        page = make_page(f"<h1>x</h1>{written}")
    except PublishingError:
        return
    assert faults(page.html) == []


@given(st.text(max_size=400), st.sampled_from(["slides", "tutorial", "?"]), st.text(max_size=20))
def test_cover_is_xml_and_draws_only(title: str, template: str, seed: str) -> None:
    svg = cover_svg(title, template=template, seed=seed, label=title[:20])
    assert svg_faults(svg) == []
    assert svg == cover_svg(title, template=template, seed=seed, label=title[:20])
    root: Any = fromstring(svg)
    assert root.get("aria-label", "") == one_line(title)


@given(st.text(max_size=200), st.floats(min_value=3, max_value=40))
def test_lines_hold_the_whole_text_and_fit(text: str, width: float) -> None:
    for lines in (wrap(text, width), balanced(text, width)):
        assert "".join("".join(lines).split()) == "".join(one_line(text).split())
        assert all(text_width(line) <= width for line in lines)


@given(st.text(max_size=80), st.integers(min_value=1, max_value=60))
def test_shortened_text_is_short_and_begins_the_same(text: str, length: int) -> None:
    short = shortened(text, length)
    assert len(short) <= max(length, 1)
    assert text.startswith(short.removesuffix("…"))
