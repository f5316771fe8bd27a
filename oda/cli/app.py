"""Commands, arguments and options of `oda`; other modules implement them."""

from pathlib import Path
from typing import Annotated, Literal

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
            help="Serve everybody, also on a public address and through a proxy, without keys.",
            show_default=False,
        ),
    ] = None,
    accept_only: Annotated[
        bool | None,
        typer.Option("--accept-only", help="Leave it to workers to run turns.", show_default=False),
    ] = None,
) -> ExitCode:
    """Serve the agents over HTTP. Prints one line with the URL when it is ready."""
    from oda.cli.serve import serve

    return serve(
        reload=reload,
        agents_dir=agents,
        host=host,
        port=port,
        dev_ui=dev_ui,
        insecure=insecure,
        accept_only=accept_only,
    )


@app.command()
def worker(
    agents: Agents = None,
    concurrency: Annotated[
        int | None,
        typer.Option(help="Most turns at a time, else ODA_TURN__CONCURRENCY, else 100.", min=1),
    ] = None,
    apps: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Apps whose turns to run, else ODA_APPS, else all."),
    ] = None,
    health_port: Annotated[
        int, typer.Option(help="Port of /livez, /readyz and /metrics; 0 takes a free one.")
    ] = 8001,
) -> ExitCode:
    """Run the turns that `oda serve` accepts, beside other workers; needs PostgreSQL."""
    from oda.cli.serve import work

    return work(agents_dir=agents, port=health_port, apps=apps, concurrency=concurrency)


@app.command()
def chaos(
    app_name: AgentName,
    agents: Agents = None,
    message: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="What clients say; several are said in turn."),
    ] = None,
    kills: Annotated[int, typer.Option(help="Number of kills at random moments.", min=0)] = 20,
    servers: Annotated[int, typer.Option(help="Number of servers.", min=1)] = 1,
    workers: Annotated[
        int, typer.Option(help="Number of workers; with any, servers only accept.", min=0)
    ] = 0,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="PostgreSQL server on which a database is made, and dropped."
        ),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Script of a built-in model, used instead of yours."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Makes the same choices again as the run that printed it.")
    ] = None,
    json: Json = False,
) -> ExitCode:
    """Kill the processes of an app and cut off what they need; print which guarantees held.

    Works on a copy of the agents in a temporary directory, with a database of its own.
    """
    from oda.cli.chaos.command import Options, chaos

    return chaos(
        Options(
            app=app_name,
            agents_dir=agents,
            texts=message or (),
            kills=kills,
            servers=servers,
            workers=workers,
            database=database,
            script=script,
            seed=seed,
            as_json=json,
        )
    )


@app.command()
def chat(
    agent: AgentName, session: SessionId = None, user: User = None, agents: Agents = None
) -> ExitCode:
    """Talk with an agent. Ctrl-C cancels the answer, Ctrl-D leaves.

    /attach FILE sends a file with the next message, /save NAME [PATH] saves a file of the session,
    and /save alone lists them.

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
def sidecar(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="[AGENT]", help="By default the only one that has a sidecar."),
    ] = None,
    user: User = None,
    agents: Agents = None,
) -> ExitCode:
    """Answer JSON lines of stdin on stdout, for a desktop shell; all else goes to stderr."""
    from oda.cli.sidecar import sidecar

    return sidecar(agent, user=user, agents_dir=agents)


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


@app.command("eval", epilog=SUMMARY)
def evaluate(
    app_name: AgentName,
    only_set: Annotated[
        str | None, typer.Option("--set", metavar="NAME", help="Only this evaluation set.")
    ] = None,
    only_case: Annotated[
        str | None, typer.Option("--case", metavar="NAME", help="Only this case.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Who judges what rules cannot, else the same model."),
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Take the recorded answers instead of a model's.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write down what the model answers.")
    ] = False,
    compare: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Report of an earlier run.")
    ] = None,
    at_least: Annotated[
        int, typer.Option(metavar="PERCENT", min=0, max=100, help="How many cases must pass.")
    ] = 100,
    agents: Agents = None,
    json: Json = False,
) -> ExitCode:
    """Run the evaluation sets of an app on the configured model, and print and write a report."""
    if recorded and (record or judge):
        raise typer.BadParameter("--recorded excludes --record and --judge")
    from oda.cli.evaluate import evaluate

    return evaluate(
        app_name,
        only_set=only_set,
        only_case=only_case,
        judge=judge,
        recorded=recorded,
        record=record,
        compare=compare,
        at_least=at_least,
        agents_dir=agents,
        as_json=json,
    )


@app.command()
def audit(
    after: Annotated[
        int, typer.Option(min=0, metavar="N", help="Only entries behind this one.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most entries.")] = 100,
    json: Json = False,
) -> ExitCode:
    """Print the audit log, oldest entry first: who has changed or approved what."""
    from oda.cli.audit import print_audit

    return print_audit(after=after, limit=limit, as_json=json)


turns = typer.Typer(
    name="turns", help="List, show and cancel turns, beside a running server.", no_args_is_help=True
)
app.add_typer(turns)

TurnId = Annotated[str, typer.Argument(metavar="TURN_ID", help="As `oda turns list` shows it.")]


@turns.command("list")
def list_turns(
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only of this session.")
    ] = None,
    app: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="Only of this app.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Only of this user.")
    ] = None,
    status: Annotated[
        Literal["queued", "running", "waiting_input", "succeeded", "failed", "cancelled"] | None,
        typer.Option(help="Only those with this status."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most turns.")] = 50,
    json: Json = False,
) -> ExitCode:
    """List turns, the newest first."""
    from oda.cli.turns import list_turns

    return list_turns(
        app=app, user=user, session_id=session, status=status, limit=limit, as_json=json
    )


@turns.command("show")
def show_turn(turn_id: TurnId, json: Json = False) -> ExitCode:
    """Show a turn: its record, its tool calls with what is known of them, and its last entries."""
    from oda.cli.turns import show_turn

    return show_turn(turn_id, as_json=json)


@turns.command("cancel")
def cancel_turn(turn_id: TurnId, agents: Agents = None, json: Json = False) -> ExitCode:
    """End a turn, wherever it runs or waits; exit code 1 if it does not end soon."""
    from oda.cli.turns import cancel_turn

    return cancel_turn(turn_id, agents_dir=agents, as_json=json)


webhooks = typer.Typer(
    name="webhooks",
    help="List what others are told of turns, and send it again.",
    no_args_is_help=True,
)
app.add_typer(webhooks)


@webhooks.command("list")
def list_deliveries(
    status: Annotated[
        Literal["waiting", "delivered", "failed"] | None,
        typer.Option(help="Only those with this status."),
    ] = None,
    turn: Annotated[
        str | None, typer.Option("--turn", metavar="TURN_ID", help="Only of this turn.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most deliveries.")] = 50,
    json: Json = False,
) -> ExitCode:
    """List deliveries, the newest first, with why the last attempt has failed."""
    from oda.cli.webhooks import list_deliveries

    return list_deliveries(status=status, turn_id=turn, limit=limit, as_json=json)


@webhooks.command("retry")
def retry_delivery(
    delivery_id: Annotated[
        str, typer.Argument(metavar="DELIVERY", help="As `oda webhooks list` shows it.")
    ],
    json: Json = False,
) -> ExitCode:
    """Have a delivery sent again, soon, by a server or worker that runs."""
    from oda.cli.webhooks import retry_delivery

    return retry_delivery(delivery_id, as_json=json)


sessions = typer.Typer(
    name="sessions", help="List, show, delete and validate sessions.", no_args_is_help=True
)
app.add_typer(sessions)

AppName = Annotated[str, typer.Argument(metavar="APP", help="Name of an app.")]
KnownSession = Annotated[str, typer.Argument(metavar="ID", help="The session.")]


@sessions.command("list")
def list_sessions(
    app: AppName,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="USER", help="Only of this user.", show_default="all"),
    ] = None,
    json: Json = False,
) -> ExitCode:
    """List the sessions of an app, the newest first."""
    from oda.cli.sessions import list_sessions

    return list_sessions(app, user=user, as_json=json)


@sessions.command("show")
def show_session(
    app: AppName, session: KnownSession, user: User = None, json: Json = False
) -> ExitCode:
    """Show a session: the keys of its state, its number of turns, its last events."""
    from oda.cli.sessions import show_session

    return show_session(app, session, user=user, as_json=json)


@sessions.command("delete")
def delete_session(
    app: AppName,
    session: KnownSession,
    user: User = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    agents: Agents = None,
    json: Json = False,
) -> ExitCode:
    """Delete a session with its turns and files; what runs in it is cancelled first."""
    from oda.cli.sessions import delete_session

    return delete_session(app, session, user=user, agents_dir=agents, sure=yes, as_json=json)


@sessions.command("sweep")
def sweep_sessions(
    app: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="Only of this app.")
    ] = None,
    agents: Agents = None,
    json: Json = False,
) -> ExitCode:
    """Reset what has expired in the sessions of orchestrators; exit code 1 if that fails for one.

    A session whose turn runs is left alone: its messages do the same.
    """
    from oda.cli.sweep import sweep_sessions

    return sweep_sessions(app=app, agents_dir=agents, as_json=json)


db = typer.Typer(name="db", help="Look at the database, and upgrade it.", no_args_is_help=True)
app.add_typer(db)


@db.command("upgrade")
def upgrade_database(json: Json = False) -> ExitCode:
    """Bring the tables to this version of oda, and print the revisions before and after."""
    from oda.cli.db import upgrade_database

    return upgrade_database(as_json=json)


@db.command("status")
def show_database(json: Json = False) -> ExitCode:
    """Show revision and sizes of the tables; exit code 1 if `oda db upgrade` is needed."""
    from oda.cli.db import show_status

    return show_status(as_json=json)


mcp = typer.Typer(name="mcp", help="Approve changed tools of MCP servers.", no_args_is_help=True)
app.add_typer(mcp)


@mcp.command("approve")
def approve_tools(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="As mcp.yaml names it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Approve without asking.")] = False,
) -> ExitCode:
    """Print how a server's tools are described otherwise than before, and approve them."""
    from oda.cli.mcp import approve_tools

    return approve_tools(server, yes=yes)


keys = typer.Typer(
    name="keys",
    help="Make, list and revoke API keys. The first one closes the server to all who have none.",
    no_args_is_help=True,
)
app.add_typer(keys)


@keys.command("create")
def create_key(
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Who holds the key.")],
    scope: Annotated[
        Literal["user", "admin"],
        typer.Option(help="An admin may act for every user, and sees metrics and ADK's tools."),
    ] = "user",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    expires_days: Annotated[
        int | None,
        typer.Option(min=1, metavar="DAYS", help="How long it holds.", show_default="for ever"),
    ] = None,
    json: Json = False,
) -> ExitCode:
    """Make a key and print it on stdout; it is never shown again."""
    from oda.cli.keys import create_key

    return create_key(user, scope, note=note, expires_days=expires_days, as_json=json)


@keys.command("list")
def list_keys(json: Json = False) -> ExitCode:
    """List the keys, without their secrets."""
    from oda.cli.keys import list_keys

    return list_keys(as_json=json)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `oda keys list` shows it.")],
    json: Json = False,
) -> ExitCode:
    """End a key, at once and for ever."""
    from oda.cli.keys import revoke_key

    return revoke_key(key_id, as_json=json)
