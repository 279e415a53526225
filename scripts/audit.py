"""Asks the index that pip uses for known vulnerabilities of what is locked, and says so when it could not ask."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("layers/shared/requirements.txt", "requirements-dev.txt")
VULNERABLE, UNASKED = 1, 2
ASK = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")


def audited(lock: str) -> list[dict[str, Any]]:
    """What the index says of each package of a lock file; nothing when it does not answer."""
    command = [sys.executable, "-m", "pip_audit", *ASK, "--requirement", str(ROOT / lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a command of our own
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        return []
    return found


def report(lock: str) -> int:
    """Print what is known against a lock file's packages; 0, or one of the codes above."""
    packages = audited(lock)
    bad = [package for package in packages if package.get("vulns")]
    unknown = [package for package in packages if "skip_reason" in package]
    for package in bad:
        for fault in package["vulns"]:
            fixed = ", ".join(fault["fix_versions"]) or "no version"
            sys.stdout.write(f"{lock}: {package['name']} {package['version']}: {fault['id']}, fixed in {fixed}\n")
    if unknown or not packages:
        missing = f"{len(unknown)} of its {len(packages)} packages" if packages else "it"
        sys.stdout.write(f"{lock}: NOT AUDITED: the index could not be asked about {missing}\n")
    elif not bad:
        sys.stdout.write(f"{lock}: nothing is known against its {len(packages)} packages\n")
    return VULNERABLE if bad else UNASKED if unknown or not packages else 0


def main(locks: Sequence[str]) -> int:
    """0: nothing is known against any package; 1: something is; 2: not all could be asked about."""
    codes = {report(lock) for lock in locks}
    return VULNERABLE if VULNERABLE in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or LOCKS))
