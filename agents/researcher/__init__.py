"""An agent that researches, analyses, translates and writes, in a workspace of its own."""
