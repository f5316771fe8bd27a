"""Models: names from the configuration, resolved at each call.

Agents use `model=configured_model()`. The name is resolved by the `Models` that the composition
root sets for its event loop; under `adk web`, by the environment.
"""
