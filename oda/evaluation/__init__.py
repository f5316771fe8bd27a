"""Evaluation of an application: what is said to it, what must come of that, and a report."""
