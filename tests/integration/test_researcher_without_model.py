"""Without a model an article is refused with what to do; its setup message is no article."""

from pathlib import Path

from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from agents.researcher.agent import app
from agents.researcher.request import ArticleRequest
from oda import Runner
from oda.agent.model.registry import Models, default_models
from oda.clock import SystemClock
from oda.config.files import ConfigurationFiles
from oda.settings import Settings, WorkspaceSettings
from oda.workspace.workspaces import Workspaces, default_workspaces


async def test_an_article_is_refused(tmp_path: Path) -> None:
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    session = await sessions.create_session(app_name=app.name, user_id="ann")
    asked = ArticleRequest(template="tutorial", prompt="otters").as_text()
    message = Content(role="user", parts=[Part(text=asked)])
    settings = Settings.model_validate({"model": None, "config_dir": tmp_path})
    models = Models(settings, ConfigurationFiles(tmp_path).current)
    workspaces = Workspaces(tmp_path / "workspaces", WorkspaceSettings(), SystemClock())
    with default_models.set(models), default_workspaces.set(workspaces):
        run = runner.run_async(user_id="ann", session_id=session.id, new_message=message)
        events = [event async for event in run]
    error = (events[-1].custom_metadata or {})["error"]
    assert (error["code"], error["retryable"]) == ("not_configured", False)
    assert "ODA_MODEL" in error["message"]
