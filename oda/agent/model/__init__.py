"""Which model answers: names from the configuration, resolved when a call is made.

An agent says `model=configured_model()`. What that means is decided by the `Models` that the
composition root installs in its event loop; under `adk web` it comes from the environment.
"""
