"""AG-UI: turns as events of the Agent-User Interaction protocol, 1.0.

`routes` is the door. Only it is imported when the server starts; what needs the protocol's package
(`oda[agui]`) is imported with the first request.
"""
