"""The `resume_coach` agent: it diagnoses a resume and mends it task by task, with the person.

Three agents behind one protocol, led by one scene of the orchestration kernel, in Chinese and
English. What is wrong, asked and written is decided by code (`mcp_tools.resume`). A model, where
there is one, words the plan and the drafts; a wording that states what nobody has said is refused.

    message -> scene.py -> workflow.py -> team.py: plan_agent | guide_agent -> editor_agent
                                                         asking.py | draft_writer.py
"""
