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
        help="ADK agents folder, else ODA_AGENTS_DIR, else agents.",
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
    str | None,
    typer.Option("--user", metavar="USER", help="Whose session it is.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"oda {version('oda')}")
        raise typer.Exit


@app.callback()
def oda(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Stateful multi-agent applications on Google ADK."""


@app.command()
def serve(
    agents: Agents = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on, else ODA_HOST, else 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port, else ODA_PORT, else 8000; 0 takes a free one."),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again when agents or configuration change.")
    ] = False,
    dev_ui: Annotated[
        bool | None,
        typer.Option(
            "--dev-ui/--no-dev-ui",
            help="Serve ADK's dev UI, else ODA_DEV_UI, else yes; never on a public address.",
            show_default=False,
        ),
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option(
            "--insecure",
            help="Listen on a public address although nobody has to prove who they are.",
            show_default=False,
        ),
    ] = None,
) -> ExitCode:
    """Serve the agents over HTTP. Prints one line with the URL when it is ready."""
    from oda.cli.serve import serve

    return serve(
        reload=reload, agents_dir=agents, host=host, port=port, dev_ui=dev_ui, insecure=insecure
    )


@app.command()
def chat(
    agent: AgentName, session: SessionId = None, user: User = None, agents: Agents = None
) -> ExitCode:
    """Talk with an agent. Ctrl-C cancels the answer, Ctrl-D leaves.

    Without a terminal each line of stdin is a message, and the exit code is that of the first
    message that was not answered.
    """
    from oda.cli.chat import chat

    return chat(agent, session_id=session, user=user, agents_dir=agents)


@app.command(epilog=SUMMARY)
def run(
    agent: AgentName,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What to say.")],
    session: SessionId = None,
    user: User = None,
    agents: Agents = None,
    json: Json = False,
    stream: Annotated[bool, typer.Option("--stream", help="Print text as it comes.")] = False,
) -> ExitCode:
    """Send one message and print the answer; all else goes to stderr."""
    from oda.cli.run import run

    return run(
        agent,
        message,
        session_id=session,
        user=user,
        agents_dir=agents,
        as_json=json,
        stream=stream,
    )


@app.command()
def agents(agents: Agents = None, json: Json = False) -> ExitCode:
    """List the agents with their models and tools; exit code 1 if one cannot be loaded."""
    from oda.cli.agents import list_agents

    return list_agents(agents_dir=agents, as_json=json)


@app.command()
def doctor(agents: Agents = None, json: Json = False) -> ExitCode:
    """Check settings, files, database, agents, models and MCP servers; exit code 1 on a failure."""
    from oda.cli.doctor import doctor

    return doctor(agents_dir=agents, as_json=json)
