"""A disk that forgets: SQLite on a recorded file system, and what a power cut could have left of it."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from discreet.ledger.sqlite import Driver


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that was done to a file; a mark, done to none, says what the world had seen by then."""

    kind: str  # write, truncate, sync, delete, a sync of the folder, or mark
    path: str = ""
    offset: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """Everything that SQLite did, in order."""

    operations: list[Operation] = field(default_factory=list)

    def mark(self, seen: str) -> None:
        self.operations.append(Operation("mark", seen))

    def sync_folder(self, folder: Path) -> None:
        """What the ledger does beside SQLite."""
        self.operations.append(Operation("folder"))

    def marks(self, until: int) -> list[str]:
        return [operation.path for operation in self.operations[:until] if operation.kind == "mark"]

    def after_a_cut(self, until: int, source: random.Random) -> dict[str, bytes]:
        """The files as a power cut may leave them: what was synced is there, of the rest any part of any write."""
        synced = {"": 0} | {operation.path: 0 for operation in self.operations}
        for number, operation in enumerate(self.operations[:until]):
            if operation.kind in ("sync", "folder"):
                synced[operation.path] = number  # a folder has no path here
        files: dict[str, bytearray] = {}
        for number, operation in enumerate(self.operations[:until]):
            durable = number < synced["" if operation.kind == "delete" else operation.path]
            length = len(operation.data)
            if not durable and source.random() < 0.3:
                length = source.randrange(length + 1)  # torn
            if durable or source.random() < 0.5:
                _apply(files, operation, length)
        return {path: bytes(content) for path, content in files.items()}


def _apply(files: dict[str, bytearray], operation: Operation, length: int) -> None:
    match operation.kind:
        case "write":
            content = files.setdefault(operation.path, bytearray())
            end = operation.offset + length
            content.extend(bytes(max(0, end - len(content))))
            content[operation.offset : end] = operation.data[:length]
        case "truncate":
            del files.setdefault(operation.path, bytearray())[operation.offset :]
        case "delete":
            files.pop(operation.path, None)


@contextmanager
def recorded() -> Iterator[tuple[Disk, Driver]]:
    """A disk, and the driver that writes to it."""
    disk, name = Disk(), f"recorded-{uuid.uuid4().hex}"

    class File(apsw.VFSFile):
        def __init__(self, inherit: str, path: object, flags: list[int]) -> None:
            super().__init__(inherit, path, flags)  # type: ignore[arg-type]
            self.path = path.filename() if isinstance(path, apsw.URIFilename) else str(path)

        def xWrite(self, data: bytes, offset: int) -> None:
            disk.operations.append(Operation("write", self.path, offset, bytes(data)))
            super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:
            disk.operations.append(Operation("truncate", self.path, size))
            super().xTruncate(size)

        def xSync(self, flags: int) -> None:
            super().xSync(flags)
            disk.operations.append(Operation("sync", self.path))

    class FileSystem(apsw.VFS):
        def xOpen(self, path: object, flags: list[int]) -> File:
            return File("", path, flags)

        def xDelete(self, path: str, sync: bool) -> None:
            super().xDelete(path, sync)
            disk.operations.append(Operation("delete", path))
            if sync:
                disk.operations.append(Operation("folder"))

    system = FileSystem(name, "")
    try:
        yield disk, Driver(_opener(name), apsw.Error)
    finally:
        system.unregister()


def _opener(name: str) -> Callable[[str], apsw.Connection]:
    def connect(path: str) -> apsw.Connection:
        connection = apsw.Connection(path, vfs=name)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # a log without memory shared between processes
        return connection

    return connect


def laid_out(files: dict[str, bytes], of: Path, to: Path) -> Path:
    """Write files of a ledger under another name; return where it is now."""
    to.mkdir()
    for path, content in files.items():
        (to / Path(path).name).write_bytes(content)
    return to / of.name
