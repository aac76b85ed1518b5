"""The command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import discreet as dc
from discreet.demo import demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="discreet", description="Ask a private table anything.")
    parser.add_argument("--version", action="version", version=f"discreet {dc.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("demo", help="ask the census table that ships with discreet a few private questions")
    chosen = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without a sign shows ? and goes on
    try:
        match chosen.command:
            case "demo":
                demo()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
