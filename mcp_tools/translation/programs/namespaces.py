"""XML namespaces of Office files, as lxml writes them before a name."""

_OFFICE = "http://schemas.openxmlformats.org"

W = f"{{{_OFFICE}/wordprocessingml/2006/main}}"
"""Word's."""
S = f"{{{_OFFICE}/spreadsheetml/2006/main}}"
"""Excel's."""
A = f"{{{_OFFICE}/drawingml/2006/main}}"
"""That of drawings."""
R = f"{{{_OFFICE}/officeDocument/2006/relationships}}"
MC = f"{{{_OFFICE}/markup-compatibility/2006}}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
"""The attribute that keeps blanks."""
