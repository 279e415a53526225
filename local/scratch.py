"""A directory for data that nobody needs afterwards, in memory where there is room, and never left behind for long."""

import fcntl
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
PREFIX = "jimeng-scratch-"


class ScratchDirectory:
    """A directory that exists until `remove`, or until another one is made after its owner died.

    The owner holds a lock in it, which the kernel drops when the owner dies, however it does.
    """

    def __init__(self) -> None:
        home = _home()
        _remove_leftovers(home)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
        # It gets its name only when it is locked, so that nobody finds it unlocked while its owner lives.
        unnamed = self.path / "owner.new"
        self._lock = unnamed.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / "owner.lock")

    def remove(self) -> None:
        """Delete it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _home() -> Path:
    # A database that is thrown away gains nothing from a disk, and each of its writes waits for one.
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    return MEMORY if has_room else Path(tempfile.gettempdir())


def _remove_leftovers(home: Path) -> None:
    for lock_file in home.glob(f"{PREFIX}*/owner.lock"):
        try:
            with lock_file.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock_file.parent, ignore_errors=True)
        except OSError:
            continue  # its owner lives, or it is another user's
