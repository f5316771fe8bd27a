"""ADK's fallback model, moved on by every failure that our policy calls passing."""

from google.adk.models import FallbackModel

from oda.agent.failure import classify


class Fallback(FallbackModel):
    """Tries its models in order; timeouts, refused connections and open circuits move on too."""

    def _should_fall_back(self, error: BaseException) -> bool:
        return classify(error, now=0.0).retryable
