"""What `sam` does without being told on the command line."""

import tomllib
from typing import Any

import pytest

from local.processes import ROOT
from tests.sam.template import TEMPLATE

LOCAL_COMMANDS = ("validate", "build", "local_invoke", "local_start_api", "local_start_lambda")
COMMANDS = {
    "default": (*LOCAL_COMMANDS, "deploy"),
    "local": LOCAL_COMMANDS,
    "dev": ("validate", "build", "deploy"),
    "prod": ("validate", "build", "deploy"),
}
CONFIG: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))


def parameters(environment: str, command: str) -> dict[str, Any]:
    found: dict[str, Any] = CONFIG[environment][command]["parameters"]
    return found


@pytest.mark.parametrize("environment", COMMANDS)
def test_every_command_expands_the_loops_of_the_template(environment: str) -> None:
    assert set(CONFIG[environment]) == {*COMMANDS[environment], "global"}
    assert all(parameters(environment, command)["language_extensions"] for command in COMMANDS[environment])


@pytest.mark.parametrize("environment", COMMANDS)
def test_builds_are_cached_and_parallel(environment: str) -> None:
    assert parameters(environment, "build") == {"cached": True, "parallel": True, "language_extensions": True}


@pytest.mark.parametrize("environment", ["default", "dev", "prod"])
def test_a_deployment_may_make_roles_and_expand_the_template_and_nothing_more(environment: str) -> None:
    deploy = parameters(environment, "deploy")
    assert deploy["capabilities"] == "CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"
    assert deploy["resolve_s3"] is True


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_what_a_stage_makes_is_tagged_with_its_name(environment: str) -> None:
    assert f"Stage={environment}" in parameters(environment, "deploy")["tags"]


def test_stages_are_stacks_of_their_own_and_production_asks_before_it_changes() -> None:
    assert len({CONFIG[name]["global"]["parameters"]["stack_name"] for name in ("local", "dev", "prod")}) == 3
    assert parameters("prod", "deploy")["confirm_changeset"] is True


def test_overridden_parameters_exist_and_none_is_a_secret() -> None:
    declared = TEMPLATE.read_text(encoding="utf-8")
    for environment, commands in COMMANDS.items():
        for command in commands:
            for override in parameters(environment, command).get("parameter_overrides", []):
                assert f"\n  {override.partition('=')[0]}:" in declared
                assert "mongodb" not in override.lower()
