"""The template as CloudFormation will see it after its two transforms, for the interpreter that has the SAM CLI.

``python expand.py TEMPLATE NAME=VALUE...`` prints JSON. It needs no account: no managed policy is looked up by name.
"""

import json
import sys
from pathlib import Path
from typing import Any

from samcli.commands.validate.lib.exceptions import InvalidSamDocumentException  # type: ignore[import-not-found]
from samcli.lib.cfn_language_extensions.sam_integration import (  # type: ignore[import-not-found]
    expand_language_extensions,
)
from samcli.lib.intrinsic_resolver.intrinsics_symbol_table import (  # type: ignore[import-not-found]
    IntrinsicsSymbolTable,
)
from samcli.lib.translate.sam_template_validator import SamTemplateValidator  # type: ignore[import-not-found]
from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]

MADE = "Made"  # a property for the moment: whether the condition of a resource holds


class NoPolicies:
    """Stands for the account that policies would be looked up in."""

    def load(self) -> dict[str, str]:
        """No managed policy is known by name."""
        return {}


def resolved(template: dict[str, Any], overrides: dict[str, str]) -> dict[str, Any]:
    """The template with parameters, conditions and text functions worked out, as an account would do last."""
    for resource in template["Resources"].values():
        if "Condition" in resource:
            resource["Properties"][MADE] = {"Fn::If": [resource["Condition"], True, False]}
    values = {**IntrinsicsSymbolTable.DEFAULT_PSEUDO_PARAM_VALUES, **overrides}
    template = {**template, "Transform": "AWS::LanguageExtensions"}
    answer: dict[str, Any] = expand_language_extensions(template, values, enabled=True).expanded_template
    made = {name: it for name, it in answer["Resources"].items() if it["Properties"].pop(MADE, True)}
    return {**answer, "Resources": made}


def main() -> None:
    """Expand the template of the command line."""
    path, *pairs = sys.argv[1:]
    overrides = dict(pair.split("=", 1) for pair in pairs)
    validator = SamTemplateValidator(
        yaml_parse(Path(path).read_text(encoding="utf-8")),
        NoPolicies(),
        parameter_overrides=overrides,
        language_extensions_enabled=True,
    )
    try:
        expanded = validator.get_translated_template_if_valid()
    except InvalidSamDocumentException as error:
        sys.exit(str(error))
    json.dump(resolved(yaml_parse(expanded), overrides), sys.stdout, default=str)


if __name__ == "__main__":
    main()
