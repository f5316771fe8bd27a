"""JSON of a form, found in what models say."""

from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai.types import GenerateContentConfig, Schema, Type
from pydantic import BaseModel, Field

from oda.agent.model.answer_form import AnswerForm, UnfitText


class Choice(BaseModel):
    word: str = Field(min_length=1)


FORM = AnswerForm(Choice)
FIT = '{"word": "yes"}'


@pytest.mark.parametrize(
    "text",
    [
        FIT,
        f"  {FIT}\n",
        f"```json\n{FIT}\n```",
        f"It is {{not}} [this], but: {FIT}. [Really]",
        f'First {{"word": ""}}, then {{"word": "no"}}; no: {FIT}',
        f"{FIT} and a comment {{",
    ],
)
def test_the_last_value_that_fits_is_the_answer(text: str) -> None:
    assert FORM.fitting(text) == FIT


@pytest.mark.parametrize(
    ("text", "problem", "has_json"),
    [
        ("", "it is empty", False),
        (" \n", "it is empty", False),
        ("Yes.", "it holds no JSON", False),
        ('{"word": "ye', "it holds no JSON", False),
        ('{"words": ["yes"]}', "word: Field required", True),
        ('"yes"', "Input should be an object", True),
        ("[" * 100_000, "it holds no JSON", False),
        ('{"a":' * 100_000, "it holds no JSON", False),
    ],
)
def test_what_is_wrong_is_said_for_the_model(text: str, problem: str, has_json: bool) -> None:
    with pytest.raises(UnfitText, match=problem) as unfit:
        FORM.fitting(text)
    assert unfit.value.has_json is has_json


def test_a_long_list_of_problems_is_cut() -> None:
    with pytest.raises(UnfitText) as unfit:
        AnswerForm(list[int]).fitting(str(["x" * 5000] * 5000).replace("'", '"'))
    assert len(str(unfit.value)) < 3000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["word"]},
        {"type": "json_schema", "json_schema": {"schema": {"required": ["word"]}}},
        Schema(type=Type.OBJECT, required=["word"]),
    ],
)
def test_json_schemas_are_checked(schema: Any) -> None:
    request = LlmRequest(config=GenerateContentConfig(response_schema=schema))
    form = AnswerForm.wanted_by(request)
    assert form is not None
    assert form.fitting(FIT) == FIT
    with pytest.raises(UnfitText, match="'word' is a required property"):
        form.fitting("{}")


def test_json_without_a_schema_may_be_any() -> None:
    config = GenerateContentConfig(response_mime_type="application/json")
    form = AnswerForm.wanted_by(LlmRequest(config=config))
    assert form is not None
    assert form.fitting("Here: [1]") == "[1]"
    assert "schema" not in form.instruction


def test_a_request_for_words_has_no_form() -> None:
    assert AnswerForm.wanted_by(LlmRequest()) is None
