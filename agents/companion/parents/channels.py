"""The ways in which a parent is told of a concern: e-mail, and webhooks that are signed."""

import asyncio
import json
import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from functools import cache
from pathlib import Path

from oda.orchestration.wording import Wording
from oda.webhooks.client import NotSentError, WebhookClient

from ..learning.notices import Notice
from ..settings import CompanionSettings, Parent, Smtp
from ..wording import wording

_TIMEOUT_S = 20.0


class NotSent(Exception):
    """Raised when a notice could not be sent.

    Args:
        problem: For the parent to read.
        is_final: Whether another attempt would fail as well.
    """

    def __init__(self, problem: str, *, is_final: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.is_final = is_final


async def send(
    notice: Notice, parent: Parent | None, settings: CompanionSettings, at: datetime
) -> None:
    """Send a notice.

    Args:
        parent: None when the settings do not name it any more.
        at: The time of the attempt.

    Raises:
        NotSent: it was refused, or nobody answers.
    """
    if parent is not None and notice.channel == "email" and parent.email and settings.smtp:
        message = _letter(notice, parent, parent.email, settings, settings.smtp)
        await asyncio.to_thread(_mail, message, settings.smtp)
    elif parent is not None and parent.webhook and settings.webhook_secret:
        secret = settings.webhook_secret.get_secret_value()
        await _post(parent.webhook, notice, secret, at)
    else:
        raise NotSent("the settings name no way to this parent any more", is_final=True)


@cache
def say() -> Wording:
    """The words of e-mail."""
    return wording(Path(__file__).parent)


def _letter(
    notice: Notice, parent: Parent, address: str, settings: CompanionSettings, smtp: Smtp
) -> EmailMessage:
    language = parent.language
    told = {
        "child": notice.child_id,
        "category": say()(notice.category, language),
        "severity": say()(notice.severity, language),
        "time": f"{notice.saved_at:%Y-%m-%d %H:%M} UTC",
    }
    message = EmailMessage()
    message["From"], message["To"] = smtp.sender, address
    message["Subject"] = say()("subject", language, **told)
    message["Message-ID"] = f"<{notice.id}@{smtp.sender.rpartition('@')[2] or 'oda'}>"
    message.set_content(say()("body", language, **told, **settings.help_in(language)))
    return message


def _mail(message: EmailMessage, smtp: Smtp) -> None:
    kind = smtplib.SMTP_SSL if smtp.security == "tls" else smtplib.SMTP
    try:
        with kind(smtp.host, smtp.port, timeout=_TIMEOUT_S) as server:
            if smtp.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if smtp.username is not None:
                server.login(smtp.username, smtp.password.get_secret_value())
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise NotSent(
            f"the mail server refused the address ({codes[0]})", is_final=min(codes) >= 500
        ) from error
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"the mail server answered {error.smtp_code}") from error
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise NotSent("the mail server cannot be reached") from error


async def _post(url: str, notice: Notice, secret: str, at: datetime) -> None:
    event = {
        "type": "companion.concern",
        "timestamp": notice.saved_at.isoformat(),
        "data": {
            "child": notice.child_id,
            "category": notice.category,
            "severity": notice.severity,
        },
    }
    try:
        async with WebhookClient(allow_private=True) as client:  # the operator has chosen it
            body = json.dumps(event).encode()
            await client.send(url, secret, notice.id, int(at.timestamp()), body)
    except NotSentError as error:
        raise NotSent(error.problem, is_final=error.is_final) from error
