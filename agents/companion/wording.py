"""The sentences of a scene: a YAML file beside its code, by language and name."""

from pathlib import Path

import yaml

from oda.orchestration.wording import Wording


def wording(folder: Path) -> Wording:
    """The sentences of `wording.yaml` in a folder."""
    return Wording(yaml.safe_load((folder / "wording.yaml").read_text(encoding="utf-8")))
