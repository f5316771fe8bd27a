"""The cost of a turn in `oda serve`, in `adk api_server` and in a bare ADK Runner, side by side.

All of them are driven in one run against one scripted model over real HTTP; what is compared is
therefore the ratio of numbers that the same machine gave in the same minutes.
"""
