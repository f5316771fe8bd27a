"""The `resume_coach` agent: it diagnoses a resume and mends it task by task, with the person.

Three agents behind one protocol, led by one scene of the orchestration kernel, in Chinese and
English. What is wrong, asked and written is decided by code (`mcp_tools.resume`); with a model the
plan is phrased by it.

    message -> scene.py -> workflow.py -> team.py: plan_agent | guide_agent -> editor_agent
"""
