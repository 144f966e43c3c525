"""The recorder: threads that call one object at the same time (`record`), in many batches (`campaign`)."""
