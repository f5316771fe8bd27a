"""The official schema of JSON Resume 1.0.0; see `json_resume/LICENSE.md`."""

import json
from pathlib import Path

from jsonschema import Draft4Validator

OFFICIAL = Draft4Validator(
    json.loads(Path(__file__).with_name("json_resume").joinpath("schema.json").read_text("utf-8"))
)
