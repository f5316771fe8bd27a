"""The ADK root of the researcher: a graph of prepare, one way to work, and publish.

prepare ┬─────────────── an agent for each template with agent_mode ──┐
        ├─ talk (any other message: all capabilities) ────────────────┤
        ├─ versions (of the session's article, by rules)              │
        ├─ search ─┐                                                  ├─ publish
        ├─ watch ──┼─ write (one model call) ─────────────────────────┘
        └──────────┘
"""

from collections.abc import Iterable, Iterator

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.workflow import START, Workflow

from oda import Capability, RunLimits, ToolPolicy, create_agent
from oda.errors import ConfigurationError
from oda.tools.capabilities import CapabilityRegistry
from oda.tools.policy import EntryMode

from .drafts import THE_ARTICLE, keep_draft
from .evidence import CLAIMS_NOTED, check_written
from .free import FREE
from .instructions import ONE_ANSWER, WORKPLACE
from .long_translation import LONG_DOCUMENTS
from .nodes import SEARCH, TALK, VERSIONS, WATCH, WRITE, prepare, publish, search
from .settings import researcher_settings
from .template import Template
from .templates import templates
from .translation import read_segments, write_translations
from .versions import VERSIONS as OF_VERSIONS
from .versions import versions
from .video import read_video
from .watching import show_frames, watch
from .web import fetch_page, web_search

NAME = "researcher"
_NODES = (NAME, "prepare", SEARCH, WATCH, WRITE, TALK, VERSIONS, "publish")
_NAMES_OF_ADK = ("user", "system")

_registry = CapabilityRegistry()
for _tool in (web_search, fetch_page, read_segments, write_translations):
    _registry.register_tool(_tool.__name__, _tool)

_VIDEO = Capability(
    "video",
    "read_video gives the words of a video, where they can be had; its pictures you do not see.",
    tools=[read_video],
    tool_policy=ToolPolicy(allow=("read_video",)),
)


def _our_own(template: Template) -> Iterator[Capability]:
    """The capabilities of this application that go with those of a template."""
    if template.is_researched:
        yield CLAIMS_NOTED
    if "translator" in template.capabilities:
        yield LONG_DOCUMENTS


def _worker(
    template: Template, *more: Capability, name: str, mode: EntryMode = "automated"
) -> LlmAgent:
    return create_agent(
        mode,
        [*template.capabilities, *_our_own(template), *more],
        name=name,
        description=template.description.en,
        product_instructions=WORKPLACE.text,
        registry=_registry,
        limits=researcher_settings().limits,
        deliverable=THE_ARTICLE,
        before_model_callback=keep_draft,
        after_tool_callback=check_written,
    )


def workers_for(found: Iterable[Template]) -> dict[str, LlmAgent]:
    """The agents that work on templates, by the names of these.

    Raises:
        ConfigurationError: a template has a name that another node of the graph has.
    """
    workers: dict[str, LlmAgent] = {}
    taken = {*_NODES, *_NAMES_OF_ADK}
    for template in found:
        if template.agent_mode:
            name = template.name.replace("-", "_")
            if name in taken:
                raise ConfigurationError(
                    f"template {template.name!r}: this name is taken in the graph of {NAME!r}",
                    remedy="call it otherwise, or give it agent_mode: false",
                )
            taken.add(name)
            workers[template.name] = _worker(template, name=name)
    return workers


_workers = workers_for(templates())
_talk = _worker(FREE, _VIDEO, OF_VERSIONS, name=TALK, mode="interactive")
_write = create_agent(
    "automated",
    (),
    name=WRITE,
    base_instructions=ONE_ANSWER.text,
    description="Writes an article.",
    before_model_callback=show_frames,
    limits=RunLimits(rounds=None),
)

root_agent = Workflow(
    name=NAME,
    description="Researches, analyses, translates and writes; makes articles of templates.",
    edges=[
        (START, prepare),
        (
            prepare,
            {
                **_workers,
                TALK: _talk,
                VERSIONS: versions,
                SEARCH: search,
                WATCH: watch,
                WRITE: _write,
            },
        ),
        (search, _write),
        (watch, _write),
        *((worker, publish) for worker in (*_workers.values(), _talk, _write)),
    ],
)

app = App(name=NAME, root_agent=root_agent)
