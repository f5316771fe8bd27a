"""The `cv` agent: a person edits a resume by talking, in Chinese or English.

Common requests are understood by rules (`rules.py`), which answer in the model's place with the
same function calls that a model would make; long, vague and creative ones go to the configured
model, which has the same tools. Without a model the rules go on working and say what they cannot
do. The resume and everything else that is remembered live in the ADK session state (`memory.py`).

    message -> dialogue/understanding/ (what is meant) -> dialogue/ (what to do) -> tools.py
"""

from collections.abc import Callable

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse

from oda import configured_model, model_configured

from .rules import rules_before_model
from .tools import CVEditor, CVReader, CVUndo

_INSTRUCTION = """\
You help a person edit their resume, which is a JSON Resume document (basics, work, volunteer, \
education, awards, certificates, publications, skills, languages, interests, references, projects).

- Read before you write: use CVReader, then CVEditor. Make one edit at a time.
- Never invent facts: no companies, titles, dates, numbers or achievements that the person has not \
given or that the resume does not hold. When you polish a text, keep its facts; when something is \
missing, ask for it.
- When a person gives a long description of their work, keep all of it.
- Use JSON Resume's field names. Dates are 2021, 2021-07 or 2021-07-01; leave endDate out for \
"until now".
- When a tool reports an error, say what it means and what the person can do.
- Answer briefly and in the language of the person; say what you have changed.
"""


async def one_edit_at_a_time(
    callback_context: CallbackContext, llm_response: LlmResponse
) -> LlmResponse | None:
    """Keep only the first of several parallel edits; the model sees its result and goes on.

    ADK merges the state changes of parallel calls key by key, which would bring back what one of
    them has deleted.
    """
    parts = (llm_response.content.parts if llm_response.content else None) or []
    calls = [part for part in parts if part.function_call]
    edits = [part for part in calls if part.function_call and part.function_call.name != "CVReader"]
    if len(calls) < 2 or not edits or llm_response.content is None:
        return None
    kept = [part for part in parts if not part.function_call or part is calls[0]]
    content = llm_response.content.model_copy(update={"parts": kept})
    return llm_response.model_copy(update={"content": content})


def build_agent(model: BaseLlm, *, model_available: Callable[[], bool]) -> LlmAgent:
    """Make the agent on a model; while `model_available` says no, only rules answer."""
    return LlmAgent(
        name="cv",
        model=model,
        description="Edits a resume in conversation, in Chinese and English.",
        instruction=_INSTRUCTION,
        tools=[CVReader, CVEditor, CVUndo],
        before_model_callback=rules_before_model(model_available=model_available),
        after_model_callback=one_edit_at_a_time,
    )


root_agent = build_agent(configured_model(), model_available=model_configured)
app = App(name="cv", root_agent=root_agent)
