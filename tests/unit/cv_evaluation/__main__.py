"""Measure files: `python -m tests.unit.cv_evaluation [--show] FILE...`."""

from argparse import ArgumentParser
from pathlib import Path

from .measure import measured, table
from .notation import load_set


def main() -> None:
    """Print the table, and what is wrong; in the unseen half only when it is asked for."""
    parser = ArgumentParser(description="How many labelled utterances rules settle rightly.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--show", action="store_true", help="show wrong ones of unseen halves too")
    options = parser.parse_args()
    cases = [case for file in options.files for case in measured(load_set(file))]
    for case in cases:
        if case.wrong and (options.show or case.half == "learned"):
            print(case.wrong)
    print(table(cases))


main()
