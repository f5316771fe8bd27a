"""Hostile clients: slow, silent, huge, broken, forged.

Their number and pace are bounded, so that a correct server has most of its time for honest users.
Each attack knows its expected outcome; any other outcome is a finding.
"""
