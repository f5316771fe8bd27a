"""Who answers: definitions, models, and agents that retry and resume."""
