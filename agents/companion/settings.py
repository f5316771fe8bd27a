"""Settings of the agent: the environment (`ODA_COMPANION__…`) and `.env`."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from oda.message.language import Language
from oda.webhooks.signature import signing_key

DailyMinutes = Annotated[int, Field(ge=0, le=24 * 60)]
"""Minutes of a child with the companion on one day."""


class Parent(BaseModel):
    """A grown-up who looks after children, and where it is told of concerns at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    children: Annotated[tuple[str, ...], Field(min_length=1)]
    """Their user ids; `*` is everybody who is no parent."""
    email: str | None = None
    webhook: str | None = None
    """A URL, which is sent Standard Webhooks."""
    language: Language = "zh"
    """Of e-mail."""


class Smtp(BaseModel):
    """The server that sends e-mail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: str
    """The address in `From`."""
    username: str | None = None
    password: SecretStr = SecretStr("")


class CompanionSettings(BaseSettings):
    """`ODA_COMPANION__…`: who looks after a child, and who helps one in trouble."""

    model_config = SettingsConfigDict(
        env_prefix="ODA_COMPANION__",
        env_nested_delimiter="__",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )

    parents: Mapping[str, Parent] = {}
    """By the user id of the grown-up's credential, as JSON: `{"mum": {"children": ["mei"]}}`.
    Without any, everybody may do all with their own records."""
    notify_from: Literal["critical", "high", "medium", "low"] = "medium"
    """The least severity of a concern of which parents are told at once."""
    smtp: Smtp | None = None
    """Sends e-mail; without it nobody gets any."""
    webhook_secret: Annotated[SecretStr, AfterValidator(signing_key)] | None = None
    """Signs webhooks (`whsec_…`, base64); without it none is sent."""
    daily_minutes: DailyMinutes | None = None
    """Time limit of a day, unless a parent has set one for the child."""
    help_line_zh: str = "12355青少年服务热线"
    """Whom a child can call that speaks Chinese."""
    help_line_en: str = "the child helpline of your country (childhelplineinternational.org)"
    """Whom a child can call that speaks English."""
    emergency_zh: str = "110或120"
    """Police and ambulance, for a child that speaks Chinese."""
    emergency_en: str = "your local emergency number (such as 911, 112 or 999)"
    """The same for a child that speaks English."""

    def help_in(self, language: Language) -> dict[str, str]:
        """Return what the fixed texts name in a language."""
        if language == "zh":
            return {"help_line": self.help_line_zh, "emergency": self.emergency_zh}
        return {"help_line": self.help_line_en, "emergency": self.emergency_en}


@cache
def companion_settings() -> CompanionSettings:
    """The settings of this process.

    Raises:
        pydantic.ValidationError: one is wrong.
    """
    return CompanionSettings()
