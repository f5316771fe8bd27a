"""The researcher's own HTTP endpoint: runs, and the articles that come of them."""
