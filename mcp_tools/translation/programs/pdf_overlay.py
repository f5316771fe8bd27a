"""Laying a drawn page over another one, as a form; fonts are shared by all pages."""

from pypdf import PageObject, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    NameObject,
)

from .pdf_removal import own_dictionary

_NAME = NameObject("/TranslatedText")


def lay_over(writer: PdfWriter, target: PageObject, overlay: PageObject) -> None:
    """Draw `overlay` over `target`, both with the lower left corner of their media boxes."""
    form = DecodedStreamObject()
    drawn = overlay.get_contents()
    form.set_data(b"" if drawn is None else drawn.get_data())
    form[NameObject("/Type")] = NameObject("/XObject")
    form[NameObject("/Subtype")] = NameObject("/Form")
    form[NameObject("/BBox")] = ArrayObject(overlay.mediabox)
    form[NameObject("/Resources")] = own_dictionary(overlay, "/Resources").clone(writer)
    own_dictionary(own_dictionary(target, "/Resources"), "/XObject")[_NAME] = writer._add_object(
        form.flate_encode()
    )

    box = target.mediabox
    content = target.get_contents()
    page = DecodedStreamObject()
    place = f"1 0 0 1 {float(box.left):.3f} {float(box.bottom):.3f} cm"
    page.set_data(
        b"q\n%s\nQ\nq %s %s Do Q\n"
        % (b"" if content is None else content.get_data(), place.encode(), _NAME.encode())
    )
    target[NameObject("/Contents")] = writer._add_object(page.flate_encode())
