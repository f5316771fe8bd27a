"""ADK's fallback model with ODA's classification of failures."""

from google.adk.models import FallbackModel

from oda.agent.failure import classify


class Fallback(FallbackModel):
    """Tries models in order; any retryable failure, such as a timeout, moves on to the next."""

    def _should_fall_back(self, error: BaseException) -> bool:
        return classify(error, now=0.0).retryable
