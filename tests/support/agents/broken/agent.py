"""An agent that cannot be loaded."""

raise RuntimeError("/etc/secret.conf: this agent is broken on purpose")
