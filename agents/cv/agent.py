"""The `cv` agent: a person edits a resume by talking, in Chinese or English.

Common requests are understood by rules (`rules.py`), which answer in the model's place with the
same function calls that a model would make; long, vague and creative ones go to the configured
model, which has the same tools. Without a model the rules go on working and say what they cannot
do. The resume and everything else that is remembered live in the ADK session state (`memory.py`).

    message -> dialogue/understanding/ (what is meant) -> dialogue/ (what to do) -> tools.py
"""

from collections.abc import Callable
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm

from oda import (
    DocumentApp,
    InterruptCheck,
    LogToolCalls,
    Prompt,
    ToolHooks,
    configured_model,
    model_configured,
)

from .batch import pending_with_its_edit
from .memory import RESUME_KEY
from .model_turn import finish_reply, prepare_request
from .rules import rules_before_model
from .settings import CvSettings, cv_settings
from .summary import TurnEnds, compaction
from .tasks import CVFile, CVFit, CVImport, CVTranslate, CVWrite
from .tools import CVDiagnose, CVEditor, CVExport, CVReader, CVUndo

_INSTRUCTION = Prompt.read(Path(__file__).parent / "prompts" / "instruction.md")


def build_agent(model: BaseLlm, *, model_available: Callable[[], bool]) -> LlmAgent:
    """Make the agent on a model; while `model_available` says no, only rules answer."""
    return LlmAgent(
        name="cv",
        model=model,
        description="Edits a resume in conversation, in Chinese and English.",
        instruction=_INSTRUCTION.text,
        tools=[
            *(CVReader, CVEditor, CVUndo, CVExport, CVDiagnose),
            *(CVFile, CVImport, CVFit, CVTranslate, CVWrite),
        ],
        before_model_callback=[
            rules_before_model(model_available=model_available),
            prepare_request,
        ],
        after_model_callback=finish_reply,
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
