"""Tools of agents, and the checks and limits applied to each call."""
