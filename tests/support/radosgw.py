"""A Ceph object gateway: an S3 server that shares no code with the other one the tests use.

One monitor, one object store in memory, one gateway, all on 127.0.0.1 with their data in one folder.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.request
import uuid
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from airflow_landmark.testing._ports import free_port

__all__ = ["RadosGateway", "installed"]

ACCESS_KEY, SECRET_KEY = "ceph-EXAMPLE-key", "ceph-EXAMPLE-secret"
_PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
_START_SECONDS = 90.0
_STOP_SECONDS = 10.0

_CONF = """\
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{mon_port}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
keyring = {home}/keyring
osd objectstore = memstore
memstore device bytes = 1073741824
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data = {home}/mon
mon data avail warn = 0
mon data avail crit = 0
osd data = {home}/osd
rgw data = {home}/rgw
rgw enable lc threads = false
rgw enable gc threads = false
rgw run sync thread = false
run dir = {home}/run
admin socket = {home}/run/$name.asok
pid file = {home}/run/$name.pid
log file = {home}/$name.log
"""


def installed() -> bool:
    """Whether this machine has the programs: ``apt-get install radosgw ceph-mon ceph-osd``."""
    return all(shutil.which(program) for program in _PROGRAMS)


class RadosGateway:
    """A running gateway.

    :param home: an empty folder with a short path: sockets lie in it.
    :ivar url: of the gateway.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._conf = home / "ceph.conf"
        self._port = free_port()
        self._running: list[subprocess.Popen[bytes]] = []
        self.url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> RadosGateway:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self) -> None:
        for name in ("mon", "osd", "rgw", "run"):
            (self._home / name).mkdir()
        mon_port, fsid, osd = free_port(), uuid.uuid4(), uuid.uuid4()
        self._conf.write_text(_CONF.format(home=self._home, mon_port=mon_port, fsid=fsid))
        self._make_keys()
        address = f"[v2:127.0.0.1:{mon_port}]"
        self._call("monmaptool", "--create", "--addv", "a", address, "--fsid", str(fsid), "monmap")
        self._call("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "keyring")
        self._run("ceph-mon", "-i", "a", "-f")
        self._call("ceph", "osd", "new", str(osd), "0")
        self._call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", str(osd))
        self._run("ceph-osd", "-i", "0", "-f")
        keys = ("--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY)
        self._call("radosgw-admin", "user", "create", "--uid", "t", "--display-name", "t", *keys)
        frontend = f"beast endpoint=127.0.0.1:{self._port}"
        self._run("radosgw", "-n", "client.admin", "-f", "--rgw-frontends", frontend)
        self._wait_until_it_answers()

    def _make_keys(self) -> None:
        everything = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *")
        tool = ("ceph-authtool", "keyring", "--gen-key", "-n")
        self._call("ceph-authtool", "--create-keyring", "keyring", "--gen-key", "-n", "mon.", *everything[:3])
        self._call(*tool, "client.admin", *everything)
        self._call(*tool, "osd.0", "--cap", "mon", "allow profile osd", "--cap", "osd", "allow *")

    def _call(self, program: str, *arguments: str) -> None:
        config = () if program in ("ceph-authtool", "monmaptool") else ("-c", str(self._conf))
        done = subprocess.run(
            [program, *config, *arguments],
            cwd=self._home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_START_SECONDS,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-500:]}")

    def _run(self, program: str, *arguments: str) -> None:
        with (self._home / f"{program}.out").open("wb") as out:
            process = subprocess.Popen(
                [program, "-c", str(self._conf), *arguments],
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)

    def _wait_until_it_answers(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            with suppress(OSError), urllib.request.urlopen(self.url, timeout=5):  # noqa: S310 - our own
                return
            if self._running[-1].poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(f"the gateway does not answer: see {self._home}")

    def _stop(self) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in reversed(self._running):
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
