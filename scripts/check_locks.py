"""Whether the lock files are whole, without asking any network: hashed, complete, and as pyproject.toml says."""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LAYER, DEV = "layers/shared/requirements.txt", "requirements-dev.txt"
LOCKS = (LAYER, DEV, "requirements-sam.txt", "tests/sam/image/requirements.txt")
PACKAGE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


@dataclass
class Entry:
    """One package of a lock file, and the comment that says who wanted it."""

    name: str
    version: str
    hashes: int = 0
    reason: str = ""


class Lock:
    """A lock file; ``strays`` are lines that are no package, hash or comment: an address, a path, a missing hash."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[Entry] = []
        self.strays: list[str] = []
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            self._read(number, line)

    def _read(self, number: int, line: str) -> None:
        if package := PACKAGE.fullmatch(line):
            self.entries.append(Entry(canonicalize_name(package["name"]), package["version"]))
        elif self.entries and HASH.fullmatch(line):
            self.entries[-1].hashes += 1
        elif self.entries and line.startswith("    #"):
            self.entries[-1].reason += f"{line}\n"
        else:
            self.strays.append(f"{self.name}:{number}: is no package with version and hashes, and no comment")

    @property
    def versions(self) -> dict[str, str]:
        """The version of each package."""
        return {entry.name: entry.version for entry in self.entries}

    def unhashed(self) -> Iterator[str]:
        """Packages that anything could stand in for."""
        yield from (f"{self.name}: {entry.name} has no hash" for entry in self.entries if not entry.hashes)

    def unmet(self, wanted: Iterable[str]) -> Iterator[str]:
        """Requirements of pyproject.toml that the lock does not fulfil."""
        for requirement in map(Requirement, wanted):
            found = self.versions.get(canonicalize_name(requirement.name))
            if found is None or not requirement.specifier.contains(found, prereleases=True):
                yield f"{self.name}: {requirement} is wanted, {found or 'nothing'} is locked: run `make lock`"

    def left_over(self, wanted: Iterable[str]) -> Iterator[str]:
        """Packages that are locked for pyproject.toml, which no longer names them."""
        names = {canonicalize_name(Requirement(text).name) for text in wanted}
        for entry in self.entries:
            if "(pyproject.toml" in entry.reason and entry.name not in names:
                yield f"{self.name}: {entry.name} is no longer wanted: run `make lock`"

    def incomplete(self) -> Iterator[str]:
        """What locked packages that are installed here need, and the lock leaves out."""
        for distribution in metadata.distributions():
            if canonicalize_name(distribution.name) in self.versions:
                for text in distribution.requires or ():
                    if _applies(text) and canonicalize_name(Requirement(text).name) not in self.versions:
                        yield f"{self.name}: {text}, which {distribution.name} needs, is not locked"


def _applies(requirement: str) -> bool:
    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate({"extra": ""})


def _different(shipped: Lock, tested: Lock) -> Iterator[str]:
    for name, version in shipped.versions.items():
        if tested.versions.get(name) != version:
            yield f"{name}: {version} ships, {tested.versions.get(name)} is tested"


def faults() -> Iterator[str]:
    """Everything that is wrong, one line each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped, tools = project["project"]["dependencies"], project["dependency-groups"]["dev"]
    locks = {name: Lock(name) for name in LOCKS}
    for lock in locks.values():
        yield from lock.strays
        yield from lock.unhashed()
    for name, wanted in {LAYER: shipped, DEV: [*shipped, *tools]}.items():
        yield from locks[name].unmet(wanted)
        yield from locks[name].left_over(wanted)
    yield from _different(locks[LAYER], locks[DEV])
    yield from locks[DEV].incomplete()


def main() -> int:
    """Print every fault; 1 if there is any."""
    found = list(faults())
    sys.stdout.write("\n".join(found or [f"{len(LOCKS)} lock files: all hashed, complete and as pyproject.toml says"]))
    sys.stdout.write("\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
