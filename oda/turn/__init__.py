"""One message answered, surely: the record of a turn, its numbered events, and who runs it."""
