"""The `cv` agent: a person edits a resume by talking, in Chinese or English.

Common requests are understood by rules (`rules.py`), which answer in the model's place with the
same function calls that a model would make; long, vague and creative ones go to the configured
model, which has the same tools. Without a model the rules go on working and say what they cannot
do. The resume and everything else that is remembered live in the ADK session state (`memory.py`).

    message -> dialogue/understanding/ (what is meant) -> dialogue/ (what to do) -> tools.py
"""

from collections.abc import Callable

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm

from oda import (
    DocumentApp,
    InterruptCheck,
    LogToolCalls,
    ToolHooks,
    configured_model,
    model_configured,
)

from .guard import nothing_invented, pending_with_its_edit
from .memory import RESUME_KEY
from .model_turn import finish_reply, one_edit_at_a_time, prepare_request
from .rules import rules_before_model
from .settings import CvSettings, cv_settings
from .summary import TurnEnds, compaction
from .tools import CVEditor, CVReader, CVUndo

_INSTRUCTION = """\
You help a person edit their resume, a JSON Resume document: basics, work, volunteer, education, \
awards, certificates, publications, skills, languages, interests, references, projects.

- With each message you see an outline of the resume with its paths. Read what you are about to \
change with CVReader, then change it with CVEditor, one edit at a time.
- Never invent facts: no companies, titles, dates, numbers or achievements that the person has not \
given or that the resume does not hold. When you polish a text, keep its facts; when something is \
missing, ask for it. When an edit is refused as not said, ask for just that.
- When a person gives a long description of their work, keep all of it.
- Use JSON Resume's field names. Dates are 2021, 2021-07 or 2021-07-01; leave endDate out for \
"until now".
- When a tool reports an error, say what it means and what the person can do.
- Answer briefly, in the language of the person. What has changed is listed under your reply by \
the program: do not list it yourself, and never say that you changed what no tool has changed.
"""


def build_agent(model: BaseLlm, *, model_available: Callable[[], bool]) -> LlmAgent:
    """Make the agent on a model; while `model_available` says no, only rules answer."""
    return LlmAgent(
        name="cv",
        model=model,
        description="Edits a resume in conversation, in Chinese and English.",
        instruction=_INSTRUCTION,
        tools=[CVReader, CVEditor, CVUndo],
        before_model_callback=[
            rules_before_model(model_available=model_available),
            prepare_request,
        ],
        after_model_callback=[one_edit_at_a_time, finish_reply],
        before_tool_callback=nothing_invented,
        after_tool_callback=pending_with_its_edit,
    )


def build_app(
    model: BaseLlm, *, model_available: Callable[[], bool], settings: CvSettings
) -> DocumentApp:
    """Make the app: the agent, the running summary of its sessions, and the hooks of its tools."""
    return DocumentApp(
        name="cv",
        root_agent=build_agent(model, model_available=model_available),
        plugins=[
            TurnEnds(settings.window_messages),
            ToolHooks([LogToolCalls(), InterruptCheck()]),
        ],
        events_compaction_config=compaction(model, model_available, settings),
        documents=(RESUME_KEY,),
        bookkeeping=frozenset({"meta"}),
    )


app = build_app(configured_model(), model_available=model_configured, settings=cv_settings())
root_agent = app.root_agent
