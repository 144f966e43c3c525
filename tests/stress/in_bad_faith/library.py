"""Objects of the standard library that threads share, and what the library calls back."""

# mypy: ignore-errors

from __future__ import annotations

import csv
import email.message
import html.parser
import io
import logging
import random
import shlex
import threading
import zipfile
from typing import Any

from tests.stress.in_bad_faith.cases import CASES, Locked, is_right, is_wrong

GET_TWICE: Any = [[("get",)], [("get",)]]


def _is(right: bool) -> Any:
    """Whether the answers of a class are those of some order of its calls."""

    def noted(made: Any) -> Any:
        CASES[made.__name__] = (right, made, None, GET_TWICE)
        return made

    return noted


@_is(False)
class OfNormalNumbers:
    """`gauss` keeps the second of two numbers for the next call, which two calls get."""

    def __init__(self) -> None:
        self.random = random.Random(1)

    def get(self) -> float:
        return self.random.gauss(0.0, 1.0)


@_is(True)
class OfNormalNumbersUnderLock(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(1)

    def get(self) -> float:
        with self.lock:
            return self.random.gauss(0.0, 1.0)


@_is(False)
class OfNumbersMadeLate(Locked):
    """The numbers are made by a call."""

    def __init__(self) -> None:
        super().__init__()
        self.random = None

    def get(self) -> float:
        with self.lock:
            if self.random is None:
                self.random = random.Random(1)
        return self.random.gauss(0.0, 1.0)


@_is(True)
class OfNumbersOfTheModule(Locked):
    """The library's own numbers are not the object's affair."""

    def get(self) -> int:
        with self.lock:
            self.n += 1
            return self.n + 0 * random.randint(1, 1000)


@_is(False)
class OfShuffle:
    """A function of the library changes a list item by item."""

    def __init__(self) -> None:
        self.items = [1, 2, 3]

    def get(self) -> tuple[int, ...]:
        random.Random(3).shuffle(self.items)
        return tuple(self.items)


@_is(False)
class OfHeaders:
    """Deleting a header makes the list of the others anew."""

    def __init__(self) -> None:
        self.message = email.message.Message()
        self.message["first"] = self.message["second"] = "1"

    def get(self) -> list[str]:
        names = self.message.keys()
        del self.message[names[0] if names else "none"]
        return self.message.keys()


@_is(False)
class OfLexer:
    def __init__(self) -> None:
        self.words = shlex.shlex("a b")

    def get(self) -> str | None:
        return self.words.get_token()


@_is(True)
class OfLexerUnderLock(OfLexer, Locked):
    def __init__(self) -> None:
        Locked.__init__(self)
        OfLexer.__init__(self)

    def get(self) -> str | None:
        with self.lock:
            return super().get()


@_is(False)
class OfRows:
    """Whoever asks for the first row reads the names of the columns."""

    def __init__(self) -> None:
        self.rows = csv.DictReader(["a,b", "1,2", "3,4"])

    def get(self) -> tuple[Any, ...]:
        return tuple(next(self.rows).items())


@_is(True)
class OfArchive(Locked):
    """The archive ends by a method with steps, on a free-threaded build when its thread makes the next execution."""

    def __init__(self) -> None:
        super().__init__()
        self.archive = zipfile.ZipFile(io.BytesIO(), "w")

    def get(self) -> int:
        with self.lock:
            self.archive.writestr(str(len(self.archive.namelist())), b"")
            return len(self.archive.namelist())


@is_wrong
class OfParser(html.parser.HTMLParser):
    """The library calls back."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.n += 1

    def increment(self) -> int:
        self.feed("<a>")
        return self.n


class Counting(logging.Handler):
    """The library calls `emit` with the handler's lock."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.n += 1
        record.args[0].append(self.n)

    def filter(self, record: logging.LogRecord) -> bool:
        return True


@is_right
class OfHandler:
    def __init__(self) -> None:
        self.log = logging.Logger("counts")
        self.log.addHandler(Counting())

    def increment(self) -> int:
        told: list[int] = []
        self.log.error("%s", told)
        return told[0]


kept, keeper = logging.Logger("kept"), Counting()
kept.addHandler(keeper)


@is_right
class OfKeptHandler:
    """The handler and its lock outlive the object."""

    def __init__(self) -> None:
        keeper.n = 0

    def increment(self) -> int:
        told: list[int] = []
        kept.error("%s", told)
        return told[0]


@is_wrong
class OfFilter:
    """The library calls a filter without a lock."""

    def __init__(self) -> None:
        self.n = 0
        self.log = logging.Logger("filters")
        self.log.addFilter(self.count)
        self.log.addHandler(logging.NullHandler())

    def count(self, record: logging.LogRecord) -> bool:
        self.n += 1
        record.args[0].append(self.n)
        return True

    def increment(self) -> int:
        told: list[int] = []
        self.log.error("%s", told)
        return told[0]


@is_right
class OfLogging(Locked):
    def increment(self) -> int:
        with self.lock:
            self.n += 1
            n = self.n
        logging.getLogger(f"{__name__}.quiet").debug("now %d in %s", n, threading.current_thread().name)
        return n
