"""Calls that are made side by side."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What calls return, in their order. The first one is made here, each other one in a thread of its own.

    If some raise an exception, this raises one of theirs. The handler of a signal may raise one in the middle: that,
    too, is raised when all calls have ended, since no thread may outlive the interpreter in the middle of C code. And
    so nothing of `threading` and `concurrent` is used here, which would leave its locks locked.
    """
    answers, errors, wake = dict[int, Any](), list[BaseException](), SimpleQueue[None]()

    def make(number: int) -> None:
        answer = None
        try:
            answer = calls[number]()
        except BaseException as error:  # noqa: BLE001 (whatever it is, somebody waits)
            errors.append(error)
        answers[number] = answer
        wake.put(None)

    number, here = 0, [0]
    others, own = iter(range(1, len(calls))), iter(here)
    # Progress: a call puts something there after its answer. So there is, or will be, one for each that is missing. Of
    # those made here, a handler may have ended one before it was made, or before its answer.
    while len(answers) < len(calls):
        try:
            for number in others:
                try:
                    _thread.start_new_thread(make, (number,))
                except RuntimeError:  # the interpreter ends, and starts no thread
                    here.append(number)
            for number in own:
                make(number)
            wake.get()
        except BaseException as error:  # noqa: BLE001 (of a handler)
            errors.append(error)
            if number in here:
                answers.setdefault(number, None)
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Exception))  # an interrupt rather than what failed
    return [answers[number] for number in range(len(calls))]
