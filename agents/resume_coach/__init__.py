"""The `resume_coach` agent, which diagnoses a resume and improves it with the person.

Three agents behind one protocol, led by one scene of the orchestration kernel, in Chinese and
English. Code (`mcp_tools.resume`) decides on defects, questions and edits. A model, if configured,
words the plan and the drafts; a wording that states facts the person has not given is rejected.

    message -> scene.py -> workflow.py -> team.py: plan_agent | guide_agent -> editor_agent
                                                         asking.py | draft_writer.py
"""
