"""A first draft of a description, from the schema of a source alone; what only a person can know is left to fill in."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.engine.catalog import TO_FILL_IN
from discreet.engine.description import Plain
from discreet.engine.source import Database, File, Frame, Source, SparkTable, header_of, source_of
from discreet.errors import NotSupported, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa

_HOLE = f'"{TO_FILL_IN}"'
_PATIENCE = 10  # seconds to reach a server
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")

# What a column of each form is declared as, and what else it could be.
_LINES = {
    "integer": (f"{{ integer = [{_HOLE}, {_HOLE}] }}", "; or a category of numbers"),
    "number": (f"{{ real = [{_HOLE}, {_HOLE}] }}", "; or bins; step = 0.01 if that is fine enough"),
    "boolean": ("{ boolean = true }", ""),
    "text": (f"{{ category = [{_HOLE}] }}", "; or text = true"),
    "date": (f"{{ date = [{_HOLE}, {_HOLE}] }}", ""),
    "instant": (f"{{ datetime = [{_HOLE}, {_HOLE}], zone = {_HOLE} }}", ""),
    "cell": (_HOLE, "; of any type"),
}

_HEAD = """\
# A first draft of the public facts about {source}, from its schema alone: no row was read.
#
# Replace each "{hole}" by what is known without looking into the rows: from a code book, a form, a law. A fact that
# was read off the rows, such as a maximum, tells of the person who has it. What lies outside counts as missing.
# Remove the lines of columns that nobody will ask about: what is not declared is invisible.
#
#   {{ integer = [0, 110] }}              the least and greatest that can be
#   {{ real = [0, 5000], step = 0.01 }}   the same, and the finest unit that matters
#   {{ bins = [0, 10, 50] }}              a number, known by its bin
#   {{ category = ["a", "b"] }}           all values of a public list; of numbers too
#   {{ text = true }}                     any text; its values are not public
#   {{ boolean = true }}
#   {{ date = [2026-01-01, 2026-12-31] }}
#   {{ datetime = [2026-01-01T00:00:00, 2026-12-31T23:59:59], zone = "Europe/Zurich" }}
#
# unit is the column whose owner is protected: remove it and rows_per_unit if no person has two rows.
# rows_per_unit is how many rows of one unit count, at most. It is chosen: fewer rows, less noise, more bias.

"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The columns of a source, and what is to be found out about them."""

    name: str
    source: str
    table: str | None
    columns: tuple[tuple[str, str, str], ...]
    """Name, type in the source, and form: one of those that a description has a line for, or "other"."""

    def to_dict(self) -> dict[str, Plain]:
        """Return the schema as plain data."""
        columns: list[Plain] = [
            {"name": name, "type": kind, "declare": _LINES[form][0] if form in _LINES else None}
            for name, kind, form in self.columns
        ]
        return {"name": self.name, "source": self.source, "table": self.table, "columns": columns}

    def to_toml(self) -> str:
        """Return the draft as a description that cannot be loaded until it is filled in."""
        facts = [f"[{self.name}]", f"source = {_quoted(self.source)}"]
        facts += [f"table = {_quoted(self.table)}"] if self.table is not None else []
        facts += [f"unit = {_HOLE}", f"rows_per_unit = {_HOLE}", f"[{self.name}.columns]"]
        seen: set[str] = set()
        for name, kind, form in self.columns:
            facts.append(_line(name, kind, form if name.casefold() not in seen else "twice"))
            seen.add(name.casefold())
        return _HEAD.format(source=_one_line(self.source), hole=TO_FILL_IN) + "\n".join(facts) + "\n"


def draft(source: object, *, table: str | None = None) -> Draft:
    """Return a draft from the schema of a source: a path, a pattern, a postgresql:// URL or a table of Spark."""
    origin = source_of(source, {}, table=table)
    columns = _schema(origin)
    if not columns:
        raise Unavailable("the schema of this source cannot be read: no file, no header, or no columns.")
    stem = re.sub(r"\W", "_", origin.stem or "", flags=re.ASCII)
    name = stem if _NAME.fullmatch(stem) else "visits"
    return Draft(name, _written(source, origin), getattr(origin, "table", None), tuple(columns))


def _schema(origin: Source) -> list[tuple[str, str, str]]:
    match origin:
        case File(paths=()):
            return []
        case File(paths, form):
            with suppress(OSError, ValueError):  # what a broken file raises is a ValueError
                return _csv_schema(paths[0]) if form == "csv" else _parquet_schema(paths[0])
            return []
        case SparkTable():
            return _spark_schema(origin)
        case Database():
            return _server_schema(origin)
        case Frame():
            raise NotSupported("a frame is declared in Python: dc.Table(frame, columns={...}, name=...).")


def _csv_schema(path: str) -> list[tuple[str, str, str]]:
    return [(name, "text of a CSV file", "cell") for name in header_of(path)]


def _parquet_schema(path: str) -> list[tuple[str, str, str]]:
    import pyarrow.parquet as pq

    return [(field.name, str(field.type), _form(field.type)) for field in pq.read_schema(path)]


def _form(kind: pa.DataType) -> str:
    from pyarrow import types

    plain = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_integer(plain):
        return "integer"
    if types.is_floating(plain) or types.is_decimal(plain):
        return "number"
    if types.is_boolean(plain):
        return "boolean"
    if types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain):
        return "text"
    if types.is_date(plain):
        return "date"
    return "instant" if types.is_timestamp(plain) else "other"


def _server_schema(origin: Database) -> list[tuple[str, str, str]]:
    """Return the columns of a table of a server: a question with a limit of no rows has a schema and nothing else."""
    try:
        import psycopg
        from psycopg.sql import SQL, Identifier
    except ImportError:
        raise NotSupported("a PostgreSQL server is reached by psycopg: install discreet[postgres].") from None
    described = None
    schema = ("public",) if len(origin.parts) == 1 else ()
    with suppress(psycopg.Error, OSError), psycopg.connect(origin.url, connect_timeout=_PATIENCE) as connection:
        found = connection.execute(SQL("SELECT * FROM {} LIMIT 0").format(Identifier(*schema, *origin.parts)))
        described = [(column.name, column.type_display) for column in found.description or []]
    if described is None:
        raise Unavailable("the server or the table cannot be reached.")
    return [(name, kind, _SERVER_FORMS.get(kind.partition("(")[0], "other")) for name, kind in described]


_SERVER_FORMS = {"int2": "integer", "int4": "integer", "int8": "integer", "numeric": "number", "float4": "number"}
_SERVER_FORMS |= {"float8": "number", "bool": "boolean", "text": "text", "varchar": "text", "date": "date"}
_SERVER_FORMS |= {"timestamp": "instant", "timestamptz": "instant"}

_SPARK_FORMS = {"byte": "integer", "short": "integer", "integer": "integer", "long": "integer", "string": "text"}
_SPARK_FORMS |= {"float": "number", "double": "number", "decimal": "number", "boolean": "boolean", "date": "date"}
_SPARK_FORMS |= {"timestamp": "instant", "timestamp_ntz": "instant"}


def _spark_schema(origin: SparkTable) -> list[tuple[str, str, str]]:
    from pyspark.errors import PySparkException

    fields: list[Any] = []
    with suppress(PySparkException):
        name = ".".join("`" + part.replace("`", "``") + "`" for part in origin.parts)
        frame = origin.frame if origin.frame is not None else origin.session.table(name)
        fields = list(frame.schema.fields)
    kinds = [(field.name, field.dataType) for field in fields]
    return [(name, kind.simpleString(), _SPARK_FORMS.get(kind.typeName(), "other")) for name, kind in kinds]


def _line(name: str, kind: str, form: str) -> str:
    kind = _one_line(kind)
    if form == "twice" or not name.isprintable() or not name:
        return f"# {name!r:.100}: rename it in the source; a name is printable, and SQL names ignore case"
    if form not in _LINES:
        return f"# {_key(name)}: {kind}, which no column type reads{'; it may be the unit' if 'uuid' in kind else ''}"
    declared, otherwise = _LINES[form]
    return f"{_key(name)} = {declared}  # {kind}{otherwise}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:200]


def _written(source: object, origin: Source) -> str:
    """Return a source as a description writes it: no password stands in a file that is kept and shared."""
    if isinstance(origin, SparkTable):
        return "spark"
    if not isinstance(origin, Database):
        return str(source)
    scheme, _, rest = origin.url.partition("://")
    found = re.match("([^@/:]*)(:[^@/]*)?@", rest)  # as the server's own library reads it
    user, address = (f"{found[1]}@", rest[found.end() :]) if found else ("", rest)
    place, mark, options = address.partition("?")
    kept = [option for option in options.split("&") if "password" not in option.partition("=")[0].lower()]
    return f"{scheme}://{user}{place}{mark if any(kept) else ''}{'&'.join(kept)}"
