"""The JSON Schema of the language, from the models themselves."""

from __future__ import annotations

import json
from typing import Any

from voxpath.scenario.model import Scenario


def schema() -> dict[str, Any]:
    """The schema of a scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(by_alias=True),
        "title": "voxpath scenario",
    }


def schema_json() -> str:
    """The schema as a text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False)
