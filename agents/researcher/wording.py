"""The sentences that the researcher says by rules: `wording.yaml`, by language and name."""

from pathlib import Path

import yaml

from oda.orchestration.wording import Wording

wording = Wording(
    yaml.safe_load(Path(__file__).with_name("wording.yaml").read_text(encoding="utf-8"))
)
