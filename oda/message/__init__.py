"""What a client sees: texts that may leave the process, contents, replies."""
