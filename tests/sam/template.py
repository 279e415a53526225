"""The template as tests read it: what CloudFormation makes of it."""

import json
from functools import cache
from typing import Any

from local.processes import ROOT
from tests.sam.commands import SAM_BIN, run

TEMPLATE = ROOT / "template.yaml"

type Resources = dict[str, dict[str, Any]]


@cache
def expanded(*overrides: str) -> dict[str, Any]:
    """The template after both transforms, with parameters such as ``ServiceIds=a,b``."""
    script = str(ROOT / "tests" / "sam" / "expand.py")
    done = run([str(SAM_BIN / "python"), script, str(TEMPLATE), *overrides])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def of_type(template: dict[str, Any], kind: str) -> Resources:
    """The properties of all resources of one type, by logical id."""
    resources = template["Resources"].items()
    return {name: resource["Properties"] for name, resource in resources if resource["Type"] == kind}
