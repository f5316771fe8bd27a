"""Commands, arguments and options of `oda`: what a user sees. What they do is in their modules."""

from pathlib import Path
from typing import Annotated

import typer

from oda.cli.exit_code import SUMMARY, ExitCode

app = typer.Typer(
    name="oda",
    help="Stateful multi-agent applications on Google ADK.",
    epilog=SUMMARY,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="Name of an agent.")]
Agents = Annotated[
    Path | None,
    typer.Option(
        "--agents",
        metavar="DIR",
        help="ADK agents folder. [default: agents, or ODA_AGENTS_DIR]",
        show_default=False,
    ),
]
SessionId = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Session to go on with, or to begin under this id.",
        show_default=False,
    ),
]
User = Annotated[
    str, typer.Option("--user", metavar="USER", help="Whose session it is.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.callback()
def oda(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"oda {version_of('oda')}")
        raise typer.Exit
