"""What a model wrote, made fit to be kept and shown: an article, its cover, its slides."""
