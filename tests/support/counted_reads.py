"""A session service that tells how much has been read through it."""

from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig

from oda.session.passing_on import PassingOn


class CountedReads(PassingOn):
    def __init__(self, behind: BaseSessionService) -> None:
        super().__init__(behind)
        self.reads: list[int] = []
        """How many events each read of a session has returned."""

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        session = await super().get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )
        if session is not None:
            self.reads.append(len(session.events))
        return session
