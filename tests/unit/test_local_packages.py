"""Packages of the distribution: installed only where they are missing and can be."""

from pathlib import Path

import pytest

from local.packages import MachineError, install, on_path


def test_what_is_there_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    install(lambda: True, "libcurl4")


def test_a_machine_where_nothing_can_be_installed_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MachineError, match="install libcurl4, libssl3: only root on Debian or Ubuntu"):
        install(on_path("mongod"), "libcurl4", "libssl3")
