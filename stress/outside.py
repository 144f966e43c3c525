"""Signal handlers are no part of the object: they run in the middle of whatever the main thread does, and what they
raise is for the caller of the exploration.

It may be raised anywhere: in a call of the object, which may catch it, in a `with` block, which is left by a step, in
the explorer's own code, where an exception has a meaning, or where the interpreter drops it, as in a `__del__` and when
a weak reference ends (each thread that ends has one, in `threading`). So it is kept when the handler raises it, by a
handler around the handler, and raised again where an execution or a batch ends, and at the end of all.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any


class Outside:
    """Within the block, what a handler of a signal raises is kept in `raised`, and raised again at its end if it was
    lost on the way. Only the main thread has signals; in any other one nothing happens. `signals`: those that count;
    by default all.
    """

    def __init__(self, *signals: int) -> None:
        self.raised: BaseException | None = None
        self._signals = signals
        self._handling = 0
        self._main = threading.main_thread().ident
        self._instead: list[tuple[int, Any, Any]] = []

    def __enter__(self) -> Outside:
        self.raised = None
        if threading.get_ident() == self._main:
            for number in self._signals or signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):  # and not one of C's, or none
                    around = _Around(self, handler)
                    self._instead.append((number, handler, around))
                    signal.signal(number, around)
        return self

    def __exit__(self, _: Any, error: BaseException | None, __: TracebackType | None) -> None:
        while self._instead:
            number, handler, around = self._instead.pop()
            if signal.getsignal(number) is around:
                signal.signal(number, handler)
        if self.raised is not None and self.raised is not error:
            raise self.raised

    def raise_again(self) -> None:
        """Raise what a handler has raised, where nothing else is under way."""
        if self.raised is not None:
            raise self.raised

    @property
    def is_handling(self) -> bool:
        """Whether this thread runs a handler."""
        return self._handling > 0 and threading.get_ident() == self._main

    def behind(self, error: BaseException) -> BaseException | None:
        """What was raised from outside, if it was, when `error` ended a call: by a handler, or by Ctrl-C."""
        each: BaseException | None = error
        while self.raised is None and each is not None:
            if isinstance(each, KeyboardInterrupt):
                return each
            each = each.__context__
        return self.raised


class _Around:
    """A handler, of which it is seen when it runs and what it raises."""

    def __init__(self, outside: Outside, handler: Any) -> None:
        self._outside, self._handler = outside, handler

    def __call__(self, number: int, frame: Any) -> Any:
        outside = self._outside
        outside._handling += 1
        try:
            return self._handler(number, frame)
        except BaseException as error:
            outside.raised = error
            raise
        finally:
            outside._handling -= 1
