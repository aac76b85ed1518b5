"""Where a ledger may lie: a disk of this machine, since locks and syncs over a network are not what they seem."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import LedgerError

_MOUNTS = Path("/proc/self/mountinfo")  # Linux; elsewhere nothing is refused, and docs/known-gaps.md says so
_NETWORK = {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "glusterfs", "lustre"}
_NETWORK |= {"gpfs", "beegfs", "pvfs2", "orangefs", "davfs", "sshfs", "s3fs", "9p", "virtiofs"}
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def refuse_network(path: Path, *, mounts: str | None = None) -> None:
    """Refuse a path on a network file system; `mounts` is the text of the kernel's list."""
    kind = _kind_of(path, mounts if mounts is not None else _listed())
    if kind is not None and (kind in _NETWORK or kind.removeprefix("fuse.") in _NETWORK):
        raise LedgerError(
            f"the ledger would lie on a network file system ({kind}), where a write that seems durable may not be; "
            "give a path on a disk of this machine, or a postgresql:// address that several servers can share."
        )


def _listed() -> str:
    return _MOUNTS.read_text("utf-8", "replace") if _MOUNTS.exists() else ""


def _kind_of(path: Path, mounts: str) -> str | None:
    """Return the type of the file system that holds a path: that of the longest mount point above it, the last such."""
    place, best, kind = path.resolve(), -1, None
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        parts = before.split()
        if not dash or len(parts) < 5:
            continue
        point = parts[4]
        for written, meant in _ESCAPES.items():
            point = point.replace(written, meant)
        if place.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), after.split()[0]
    return kind
