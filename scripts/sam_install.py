"""Makes .venv-sam with the SAM CLI that requirements-sam.txt pins; does nothing while both are as they were."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements-sam.txt"
ENVIRONMENT = ROOT / ".venv-sam"
STAMP = ENVIRONMENT / "installed-requirements.txt"


def main() -> None:
    """Install into a fresh virtual environment unless the right one is there."""
    wanted = REQUIREMENTS.read_bytes()
    if STAMP.exists() and STAMP.read_bytes() == wanted and (ENVIRONMENT / "bin" / "sam").exists():
        return
    sys.stderr.write(f"Installing {REQUIREMENTS.name} into {ENVIRONMENT.name}\n")
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-input", "--require-hashes", "--no-deps", "-r", str(REQUIREMENTS)]
    subprocess.run([*pip, *options], check=True)  # noqa: S603 - a command of our own
    STAMP.write_bytes(wanted)


if __name__ == "__main__":
    main()
