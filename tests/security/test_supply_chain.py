"""What is installed and shipped is locked, hashed and as pyproject.toml says; the audit claims only what it asked."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local.processes import ROOT

LAYER, DEV = "layers/shared/requirements.txt", "requirements-dev.txt"
FILES = ("pyproject.toml", LAYER, DEV, "requirements-sam.txt", "tests/sam/image/requirements.txt")
SCRIPTS = ("scripts/check_locks.py", "scripts/audit.py")

type Change = Callable[[str], str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The lock files and the scripts that look at them, in a folder where they may be spoiled."""
    for name in (*FILES, *SCRIPTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(directory: Path, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(directory / "scripts" / script)]
    return subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)


def test_the_locks_of_this_project_are_whole(copy: Path) -> None:
    done = run(copy, "check_locks.py")
    assert done.returncode == 0, done.stdout


def without_hashes_of(name: str) -> Change:
    return lambda text: re.sub(rf"(?m)^({name}==\S+ \\\n)(    --hash.*\n)+", r"\1", text)


SPOILT: dict[str, tuple[str, Change, str]] = {
    "no hashes": (LAYER, without_hashes_of("boto3"), "boto3 has no hash"),
    "no hashes in the development lock": (DEV, without_hashes_of("pytest"), "pytest has no hash"),
    "a short hash": (LAYER, lambda text: re.sub(r"sha256:[0-9a-f]{8}", "sha256:", text, count=1), ":2: is no package"),
    "a weak hash": (LAYER, lambda text: text.replace("sha256:", "md5:", 1), ":2: is no package"),
    "an address": (LAYER, lambda text: text + "evil @ https://example.com/evil.whl\n", "is no package"),
    "an index": (DEV, lambda text: f"--index-url https://example.com\n{text}", ":1: is no package"),
    "an unlocked line": (DEV, lambda text: f"{text}evil\n", "is no package"),
    "a new dependency": (
        "pyproject.toml",
        lambda text: text.replace('"boto3>=', '"evil>=1", "boto3>='),
        "evil>=1 is wanted",
    ),
    "a raised minimum": ("pyproject.toml", lambda text: text.replace('"boto3>=1.', '"boto3>=99.'), "boto3>=99"),
    "a dropped dependency": (
        "pyproject.toml",
        lambda text: re.sub(r'    "mangum.*\n', "", text),
        "mangum is no longer wanted",
    ),
    "another version in the tests": (
        DEV,
        lambda text: re.sub(r"(?m)^boto3==\S+", "boto3==99.0.0", text),
        "is tested",
    ),
    "a missing package": (DEV, lambda text: re.sub(r"(?m)^iniconfig==.*\n( .*\n)*", "", text), "is not locked"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_lock_that_is_not_whole_is_told(copy: Path, name: str) -> None:
    file, change, says = SPOILT[name]
    whole = (copy / file).read_text()
    (copy / file).write_text(change(whole))
    assert (copy / file).read_text() != whole

    done = run(copy, "check_locks.py")

    assert done.returncode == 1
    assert says in done.stdout


def test_an_audit_that_cannot_ask_says_so_and_fails(copy: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    done = run(copy, "audit.py", HTTPS_PROXY=nowhere, HTTP_PROXY=nowhere, https_proxy=nowhere, http_proxy=nowhere)
    assert done.returncode == 2
    assert done.stdout.count("NOT AUDITED") == 2
    assert "nothing is known" not in done.stdout
