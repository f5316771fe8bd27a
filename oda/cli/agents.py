"""`oda agents`: what can be talked to."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oda.agent.description import AppDescription, ModelState, describe
from oda.cli.exit_code import ExitCode
from oda.cli.narration import one_line
from oda.cli.terminal import load_settings
from oda.context import context_without_database
from oda.server.v1.wire import AppList
from oda.settings import Settings


def list_agents(*, agents_dir: Path | None, as_json: bool) -> ExitCode:
    """Print all agents, those included that cannot be loaded.

    Raises:
        ConfigurationError: the folder does not exist, or the configuration is wrong.
    """
    apps = asyncio.run(_apps(load_settings(agents_dir=agents_dir)))
    if as_json:
        print(AppList(apps=apps).model_dump_json(indent=2))
    else:
        _print_list(apps)
    return ExitCode.FAILED if any(app.error for app in apps) else ExitCode.OK


async def _apps(settings: Settings) -> list[AppDescription]:
    async with context_without_database(settings) as oda:
        return [
            app.model_copy(update={"error": one_line(app.error)}) if app.error else app
            for app in describe(oda.definitions, oda.models)
        ]


def _print_list(apps: Sequence[AppDescription]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    if not apps:
        console.print("no agents")
        return
    names = max(len(app.name) for app in apps)
    models = max(len(_model(app.model)) for app in apps)
    for app in apps:
        if app.error:
            console.print(Text(f"{app.name:<{names}}  {app.error}", style="red"))
            continue
        description = one_line(app.description)
        console.print(Text(f"{app.name:<{names}}  {_model(app.model):<{models}}  {description}"))
        if app.tools:
            console.print(Text(f"{'':<{names}}  tools: {', '.join(app.tools)}", style="dim"))


def _model(model: ModelState) -> str:
    match model.state:
        case "configured":
            return model.name or ""
        case "own":
            return f"{model.name} (its own)"
        case "not_configured":
            return "(no model configured)"
        case "none":
            return "(no model)"
