"""`oda chaos`: an app whose processes are killed and whose parts are cut off, and what held."""
