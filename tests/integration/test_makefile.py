"""The Makefile on a bare machine: what it offers, and how it finds its interpreter."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local.processes import ROOT

TOOLS = ("sh", "make", "dirname", "cmp", "cp", "awk", "env")
TARGETS = {"install", "run", "demo", "replay", "indexes", "test", "check", "test-sam", "sam-install", "sam-build"} | {
    "audit",
    "soak",
    "bench",
    "cost",
    "lock",
    "clean",
    "help",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a fresh clone, as far as `make install` is concerned, and with nothing to install."""
    home = tmp_path_factory.mktemp("home")
    clone, programs = home / "clone", home / "bin"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", clone)
    shutil.copy(ROOT / "scripts" / "install", clone / "scripts")
    (clone / "requirements-dev.txt").write_text("# nothing\n")
    programs.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (programs / tool).symlink_to(found)
    return home


@pytest.fixture(scope="module")
def installed(home: Path) -> Path:
    """That home after a first `make install`, which had to pass a shim that does not work to find pyenv's Python."""
    shim = home / "bin" / "python3.13"
    shim.write_text("#!/bin/sh\necho 'version not selected' >&2\nexit 127\n")
    shim.chmod(0o755)
    versions = home / ".pyenv" / "versions" / "3.13.9" / "bin"
    versions.mkdir(parents=True)
    (versions / "python").symlink_to(os.path.realpath(sys.executable))
    first = make(home, "install")
    assert first.returncode == 0, first.stderr
    return home


def make(home: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    """Run make in the clone, with nothing but the home's programs on PATH."""
    environ = {"PATH": str(home / "bin"), "HOME": str(home)}
    return subprocess.run(
        ["make", *targets], cwd=home / "clone", env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def test_help_is_the_default_and_explains_every_target(home: Path) -> None:
    shown = make(home)

    assert shown.returncode == 0
    explained = re.findall(r"^  make (\S+) +\S", shown.stdout, re.MULTILINE)
    assert set(explained) >= TARGETS
    declared = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(declared) == set(explained)


def test_without_any_python_one_line_says_what_to_install(home: Path) -> None:
    refused = make(home, "install")

    assert refused.returncode != 0
    lines = [line for line in refused.stderr.splitlines() if not line.startswith("make:")]
    assert len(lines) == 1
    assert lines[0].startswith("error: install Python 3.13")


def test_the_second_time_nothing_is_done(installed: Path) -> None:
    again = make(installed, "install")

    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_the_environment_is_made_anew_when_its_requirements_change(installed: Path) -> None:
    leftover = installed / "clone" / ".venv" / "leftover"
    leftover.touch()

    (installed / "clone" / "requirements-dev.txt").write_text("# nothing at all\n")
    again = make(installed, "install")

    assert again.returncode == 0, again.stderr
    assert "Installing requirements-dev.txt" in again.stdout
    assert not leftover.exists()
