"""Handling of messages without a template: the researcher converses and works freely."""

from .template import Localized, Template

FREE = Template(
    name="free",
    title=Localized(en="Article", zh="文章"),
    description=Localized(en="Whatever is asked for.", zh="按要求完成。"),
    agent_mode=True,
    capabilities=("base", "writer", "sourcing", "analyst", "translator"),
    prompt="{request}",
)
