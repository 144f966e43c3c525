"""State outside the process, or out of sight in C."""

# mypy: ignore-errors

from __future__ import annotations

import collections
import csv
import ctypes
import functools
import gc
import os
import pathlib
import re
import sqlite3
import tempfile
from typing import Any, ClassVar

from tests.stress.in_bad_faith.cases import Locked, is_right, is_wrong

PLACE = tempfile.mkdtemp()
FILE = tempfile.TemporaryFile()  # noqa: SIM115


@is_wrong
class OfFile(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = os.path.join(PLACE, "number")
        with open(self.path, "w") as file:
            file.write("0")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        return self._increment()

    def _increment(self) -> int:
        with open(self.path) as file:
            n = int(file.read() or 0) + 1
        with open(self.path, "w") as file:
            file.write(str(n))
        return n


@is_right
class OfFileUnderLock(OfFile):
    def increment(self) -> int:
        with self.lock:
            return self._increment()


@is_wrong
class OfPath(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = pathlib.Path(PLACE) / "path"
        self.path.write_text("0")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        n = int(self.path.read_text() or 0) + 1
        self.path.write_text(str(n))
        return n


@is_wrong
class OfExistingFile(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = os.path.join(PLACE, "taken")
        if os.path.exists(self.path):
            os.unlink(self.path)

    def take(self) -> int:
        if os.path.exists(self.path):
            return 0
        open(self.path, "w").close()
        return 1


@is_right
class OfExclusiveFile(OfExistingFile):
    def take(self) -> int:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0
        return 1


@is_wrong
class OfFileDescriptor:
    def __init__(self) -> None:
        self.fd = FILE.fileno()
        os.pwrite(self.fd, b"0", 0)

    def increment(self) -> int:
        n = int(os.pread(self.fd, 10, 0)) + 1
        os.pwrite(self.fd, str(n).encode(), 0)
        return n


@is_right
class OfPipe(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.end = os.pipe()
        os.write(self.end, b"0")

    def increment(self) -> int:
        with self.lock:
            n = int(os.read(self.source, 1)) + 1
            os.write(self.end, str(n).encode())
            return n


@is_wrong
class OfDatabase(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = sqlite3.connect(":memory:", check_same_thread=False)
        self.held.execute("CREATE TABLE numbers (n)")
        self.held.execute("INSERT INTO numbers VALUES (0)")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        return self._increment()

    def _increment(self) -> int:
        n = self.held.execute("SELECT n FROM numbers").fetchone()[0] + 1
        self.held.execute("UPDATE numbers SET n = ?", (n,))
        return n


@is_right
class OfDatabaseUnderLock(OfDatabase):
    def increment(self) -> int:
        with self.lock:
            return self._increment()


@is_wrong
class OfFieldSizeLimit(Locked):
    def __init__(self) -> None:
        super().__init__()
        csv.field_size_limit(131_072)

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        n = csv.field_size_limit() + 1
        csv.field_size_limit(n)
        return n - 131_072


@is_wrong
class OfCollectorThreshold(Locked):
    def __init__(self) -> None:
        super().__init__()
        gc.set_threshold(*gc.get_threshold()[:2], 10)

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        *before, n = gc.get_threshold()
        gc.set_threshold(*before, n + 1)
        return n - 9


class Numbers2(ctypes.Structure):
    _fields_: ClassVar = [("n", ctypes.c_int), ("more", ctypes.c_int * 2)]


class WithStructure(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = Numbers2()


@is_wrong
class OfStructure(WithStructure):
    def increment(self) -> int:
        with self.lock:
            self.n += 1
        self.held.n += 1
        return self.held.n


@is_wrong
class OfArrayInStructure(WithStructure):
    def increment(self) -> int:
        with self.lock:
            self.n += 1
        self.held.more[1] += 1
        return self.held.more[1]


@is_right
class OfStructureUnderLock(WithStructure):
    def increment(self) -> int:
        with self.lock:
            self.held.n += 1
            return self.held.n


@is_right
class OfAnnotations(Locked):
    def __init__(self) -> None:
        super().__init__()

        @functools.singledispatch
        def step(by: Any) -> int:
            raise TypeError(by)

        @step.register
        def _(by: int) -> int:
            self.n += by
            return self.n

        self.step = step

    def increment(self) -> int:
        with self.lock:
            return self.step(1)


@is_right
class OfNamedTupleMadeHere(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = collections.namedtuple("Held", "n more")(0, 0)

    def increment(self) -> int:
        with self.lock:
            self.held = self.held._replace(n=self.held.n + 1)
            return self.held.n


@is_wrong
class OfRegularExpression:
    def __init__(self) -> None:
        self.text = "n=0"

    def increment(self) -> int:
        self.text = re.sub(r"\d+", lambda found: str(int(found.group()) + 1), self.text)
        return int(self.text[2:])


@is_wrong
class OfDefaultValue:
    def __init__(self) -> None:
        def increment(box: Any = [0]) -> int:  # noqa: B006
            box[0] = box[0] + 1
            return box[0]

        self.step = increment
        increment.__defaults__[0][0] = 0

    def increment(self) -> int:
        return self.step()


class Numbered(type):
    made = 0

    def __call__(cls) -> Any:
        n = Numbered.made
        Numbered.made = n + 1
        made = super().__call__()
        made.number = n + 1
        return made


class Made(metaclass=Numbered):
    pass


@is_wrong
class OfCountingMetaclass:
    def __init__(self) -> None:
        Numbered.made = 0

    def increment(self) -> int:
        return Made().number


@is_wrong
class OfIdentity:
    def __init__(self) -> None:
        self.box = [0]

    def increment(self) -> int:
        while True:
            seen, n = id(self.box), self.box[0]
            if id(self.box) == seen:
                self.box = [n + 1]
                return n + 1


@is_right
class OfPublishedDict:
    def __init__(self) -> None:
        self.held = {"a": 0, "b": 0}

    def put(self, value: int) -> None:
        new = dict(self.held)
        new["a"] = new["b"] = value
        self.held = new

    def read(self) -> tuple[int, int]:
        held = self.held
        return held["a"], held["b"]


@is_wrong
class OfPublishedDictReadTwice(OfPublishedDict):
    def read(self) -> tuple[int, int]:
        return self.held["a"], self.held["b"]
