"""A ledger on a network file system is refused."""

from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, places

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /mnt/team rw,relatime shared:1 - nfs4 server:/team rw
31 30 254:1 / /mnt/team/local rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/with\\040space rw - fuse.sshfs me@host:/ rw
33 22 0:42 / /mnt/over rw - cifs //host/share rw
34 22 254:2 / /mnt/over rw - ext4 /dev/vdc rw
a line of another kind
"""


@pytest.mark.parametrize("path", ["/mnt/team/x.ledger", "/mnt/team/a/b", "/mnt/with space/x"])
def test_a_network_is_refused_by_its_mount(path: str) -> None:
    with pytest.raises(LedgerError, match="network file system"):
        places.refuse_network(Path(path), mounts=MOUNTS)


@pytest.mark.parametrize("path", ["/srv/x", "/mnt/team/local/x", "/mnt/teammate/x", "/mnt/over/x", "/"])
def test_a_disk_is_accepted(path: str) -> None:
    places.refuse_network(Path(path), mounts=MOUNTS)


def test_nothing_is_known_where_nothing_is_listed() -> None:
    places.refuse_network(Path("/mnt/team/x"), mounts="")


def test_a_ledger_asks_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:40 / {tmp_path} rw - nfs server:/ rw\n"
    monkeypatch.setattr(places, "_listed", lambda: mounts)
    with pytest.raises(LedgerError, match="network file system"):
        Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
    assert list(tmp_path.iterdir()) == []
