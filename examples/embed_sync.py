"""The same from a program without an event loop."""

from oda import OdaContext

with OdaContext.from_settings() as oda:
    session = oda.session_sync("cv")
    print(session.ask_sync("add a job at Google as SRE, 2019-03 to 2021-06"))
    print(session.state["resume"]["work"])
