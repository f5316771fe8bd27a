"""Errors that prevent the export of a resume.

ResumeError
└── ExportError
    ├── MissingExtraError    an optional package is not installed
    └── MissingFontError     there is no font for the characters of the resume
"""

from collections.abc import Mapping
from typing import ClassVar

from mcp_tools.resume.errors import ResumeError
from mcp_tools.resume.labels import Language


class ExportError(ResumeError):
    """Base of the errors about files made of a resume."""

    code = "export_failed"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "无法导出简历：{reason}",
        "en": "The resume could not be exported: {reason}",
    }


class MissingExtraError(ExportError):
    """Raised when a format needs a package that is not installed."""

    code = "export_not_installed"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "导出 {format} 需要安装可选组件：pip install 'oda[resume]'",
        "en": "Exporting {format} needs optional packages: pip install 'oda[resume]'",
    }


class MissingFontError(ExportError):
    """Raised when a PDF would show empty boxes instead of Chinese, Japanese or Korean."""

    code = "export_no_font"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有可用的中日韩字体：请安装 oda[resume]，或 Debian 软件包 fonts-noto-cjk，"
        "或用环境变量 TYPST_FONT_PATHS 指定字体目录",
        "en": "There is no font for Chinese, Japanese or Korean: install oda[resume] or the Debian "
        "package fonts-noto-cjk, or name a folder of fonts in TYPST_FONT_PATHS",
    }
