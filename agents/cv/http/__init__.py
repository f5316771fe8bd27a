"""The agent's own HTTP endpoint: a turn, a document, a file, in the words of resumes."""
