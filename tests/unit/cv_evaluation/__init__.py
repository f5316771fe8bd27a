"""Labelled utterances and dialogues, and how rightly rules settle them.

notation   the files: what is said and what must come of it
talk       messages run one after the other, as the agent runs them
judge      what came of a message compared with what must, by its effect on the resume
measure    counts by half, language and intent, and what was wrong

`python -m tests.unit.cv_evaluation FILE...` measures files from anywhere. A set has two halves:
the `learned` one is there to be worked with; what is wrong in the `unseen` one is not looked at.
"""
