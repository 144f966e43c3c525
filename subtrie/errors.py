"""The errors of bad texts and rows: what is wrong, and where."""

from __future__ import annotations

_EXCERPT = 60
"""Characters of the offending text shown on each side of the fault: a hostile text must not flood a log."""


class TopicError(ValueError):
    """A topic or a topic filter that its dialect refuses.

    Args:
        text: the whole offending text.
        position: index into ``text``, in characters, where the fault begins (``len(text)`` if something is missing).
        reason: what is wrong, as a phrase.

    All three are attributes with the same names. The message and the error's own ``repr`` show the text as ``repr``
    does, so that control characters and lone surrogates can be printed and logged anywhere. Of a long text they show
    only the part around the fault.

    >>> raise TopicError("a.b\\ud800", 3, "lone surrogate")
    Traceback (most recent call last):
        ...
    subtrie.errors.TopicError: lone surrogate at character 3 of 'a.b\\ud800'
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        super().__init__(text, position, reason)
        self.text = text
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason} at character {self.position} of {self._excerpt()}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _excerpt(self) -> str:
        start = max(0, self.position - _EXCERPT)
        stop = min(len(self.text), self.position + _EXCERPT)
        before = "..." if start else ""
        after = "..." if stop < len(self.text) else ""
        return f"{before}{self.text[start:stop]!r}{after}"


class RowError(ValueError):
    """A row that is not a subscription, or the same subscription as another row; `row` counts from 0."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"
