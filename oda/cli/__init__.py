"""The command line of `oda`. Commands import what they need when they run."""


def main() -> None:
    """Run the command line and exit with an `ExitCode`; errors are one line on stderr."""
    from oda.cli.app import app
    from oda.cli.terminal import run

    run(app)
