"""The recorder: threads that call one object at once (`record`), batch after batch (`campaign`)."""
