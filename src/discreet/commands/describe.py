"""`describe`: a first description of a table, the public facts of one, or a look at the rows for the curator."""

from __future__ import annotations

import argparse

from discreet.commands.console import note, say, say_data, say_json
from discreet.commands.parsers import Commands, command
from discreet.errors import InvalidParameter


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "describe",
        describe,
        about="write a first description of a table from its schema, or show the public facts of a description",
        more="Of a description (.toml) it shows the public facts; of anything else it writes a first draft of one, "
        "from the schema alone.",
        example="""discreet describe visits.parquet > visits.toml
        discreet describe visits.toml""",
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="visits.toml; or visits.parquet, a CSV file, a pattern, a postgresql:// URL"
    )
    parser.add_argument("--table", metavar="NAME", help="the table of a server: schema.visits")
    parser.add_argument(
        "--check",
        action="store_true",
        help="for the curator's eyes: count the values outside of what a description declares",
    )


def describe(chosen: argparse.Namespace) -> None:
    """Show a description, or draft one."""
    if chosen.source.lower().endswith(".toml"):
        _describe_tables(chosen)
    elif chosen.check:
        raise InvalidParameter("--check compares the rows with a description: discreet describe visits.toml --check.")
    else:
        from discreet.engine.draft import draft

        drafted = draft(chosen.source, table=chosen.table)
        if chosen.json:
            say_json(drafted.to_dict())
        else:
            say_data(drafted.to_toml())


def _describe_tables(chosen: argparse.Namespace) -> None:
    import discreet as dc

    if chosen.table is not None:
        raise InvalidParameter("--table names the table of a server; a description has its own.")
    tables = dc.load_tables(chosen.source)
    if chosen.check:
        from discreet.engine.check import WARNING, checked

        note(WARNING)
        found = [checked(one) for one in tables]
        data, texts = [one.to_dict() for one in found], [str(one) for one in found]
    else:
        facts = [table.description for table in tables]
        data, texts = [fact.to_dict() for fact in facts], [repr(fact) for fact in facts]
    if chosen.json:
        say_json(data)
    else:
        say("\n\n".join(texts))
