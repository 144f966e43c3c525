"""Classes and what `stress.explore` must say of each: the table that the texts in `tests/stress/classes` are.

A file of texts is about one mechanism of the explorer, and begins with a sentence that says which. A line that begins
with `==` begins a case, and names its classes, each after its verdict:

    == wrong Losing*, right Locked, right Losing(add)
    An update is lost between a read and a write.
    calls: add(1) | add(2); total()
    | self.n += amount
    | self.n = self.n + amount

    class Losing(Number):
        def add(self, amount): EACH
    ...

The verdicts are those of `VERDICTS`. A star means that the class is one of the quick cover: `make test` runs it, on every
interpreter, and `make test-all` the others. `right Losing(add)` is the same class whose calls of `add` are made one at a
time. `== common` begins code that comes before that of every case in the file.

The lines up to the first that is empty say why, but for those with a key (`KEYS`): the `spec`, a name of `SPECS` if the
text has no class `Specification`; the `calls` of each thread; those at the `start`, and at the `end`; the `invariant` of
`it`; more arguments of `explore` as `how`; what the report or the exception `says`; the `only` interpreters that it is
for. A key after the name of a class (`Locked says`) is for that class alone. What is left out goes by the names of the
class's methods (`USUAL`). Each line that begins with `|` makes a case of its own, with its text in the place of `EACH`; the
parts of a text that has `;;` in it are in the place of `EACH1`, `EACH2` and so on. `|*` makes a case of the quick cover.

`Number`, `Locked` and the modules of `PRELUDE` are there without an import. `pytest -k NAME tests/stress` runs one class.
"""

from __future__ import annotations

import ast
import io
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import stress
from stress import Verdict
from stress.processes import gil_enabled
from tests.stress.one_at_a_time import one_at_a_time

FOLDER: Final = Path(__file__).parent / "classes"
KEYS: Final = ("spec", "calls", "start", "end", "invariant", "how", "says", "only")
DIVIDED: Final = "reads several things"
VERDICTS: Final[dict[str, tuple[Verdict | None, ...]]] = {
    "right": (Verdict.LINEARIZABLE,),
    "wrong": (Verdict.ILLEGAL,),
    "unknown": (Verdict.UNKNOWN,),
    "unproved": (Verdict.ILLEGAL, Verdict.UNKNOWN),
    "divided": (Verdict.LINEARIZABLE if gil_enabled() else Verdict.UNKNOWN,),
    "refused": (None,),
}
"""What each word allows: `divided` is right where threads take turns, and `refused` raises ValueError."""
PRELUDE: Final = """\
import array, bisect, collections, contextlib, copy, dataclasses, functools, heapq, itertools, json, operator, os, pickle
import queue, random, sys, threading, time, types, weakref
import stress
from ctrie import AtomicReference

class Number:
    def __init__(self):
        self.n = 0

class Locked(Number):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

class TwoItems:
    def __init__(self):
        self.l = [0, 0]
    def put(self, x):
        self.l[0] = x
        self.l[1] = x

class TwoValues:
    def __init__(self):
        self.d = {"a": 0, "b": 0}
    def put(self, x):
        self.d["a"] = x
        self.d["b"] = x
"""


class Pair(stress.Spec):
    """Two values that are put together, and read together."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((args[0], args[0]), None) if op == "put" else (state, state)


class Once(stress.Spec):
    """A value that is taken once."""

    initial = 1

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return 0, state


class Yes(stress.Spec):
    """Every call answers True."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return state, True


SPECS: Final[dict[str, Callable[[], stress.Spec | None]]] = {
    "none": lambda: None, "counter": stress.Counter, "pair": Pair, "once": Once, "yes": Yes, "set": stress.Set,
}  # fmt: skip
USUAL: Final = {
    "increment": ("counter", "increment() | increment()"),
    "put": ("pair", "put(1) | read()"),
    "get": ("none", "get() | get()"),
    "take": ("once", "take() | take()"),
}
"""For the first of these methods that a class has, the specification and the calls of two threads."""


@dataclass(frozen=True)
class Case:
    """One class of the table, and what is to be said of it."""

    file: str
    name: str
    verdict: str
    is_quick: bool
    locked: tuple[str, ...]
    keys: dict[str, list[str]]
    why: str
    code: str
    common: str
    number: int

    @property
    def id(self) -> str:
        """What pytest calls it."""
        methods = "-" + "-".join(self.locked) if self.locked else ""
        return f"{self.file}-{self.name}{methods}{f'-{self.number}' if self.number else ''}"

    def all_of(self, key: str) -> list[str]:
        """What the case says of a key, for this class or for all."""
        return self.keys.get(f"{self.name} {key}", self.keys.get(key, []))

    def one_of(self, key: str, usual: str = "") -> str:
        """The same, if there is one line at most."""
        return " ".join(self.all_of(key)) or usual

    @property
    def is_for_here(self) -> bool:
        """Whether this interpreter is one that the class is for."""
        wanted = self.one_of("only")
        if wanted.startswith("with "):
            return find_spec(wanted[5:]) is not None
        return not wanted or (wanted == "gil") is gil_enabled()

    @contextmanager
    def made(self) -> Iterator[Any]:
        """Within the block, the class is in a module of its own, named `case`, whose text Python shows in tracebacks."""
        module, place = ModuleType("case"), FOLDER / self.file
        module.__file__, sys.modules["case"] = str(place / f"{self.name}.py"), module
        files = {"prelude": PRELUDE, "common": self.common, self.name: self.code}
        for name, text in files.items():
            path = str(place / f"{name}.py")
            linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
            exec(compile(text, path, "exec", dont_inherit=True), vars(module))
        try:
            factory = vars(module)[self.name]
            yield one_at_a_time(factory, *self.locked) if self.locked else factory
        finally:
            del sys.modules["case"]
            for each in vars(module).values():
                if isinstance(each, io.IOBase):  # which the text has opened for all its objects
                    each.close()

    def asked(self, factory: Any) -> tuple[stress.Spec | None, list[Any], dict[str, Any]]:
        """The specification, the calls of each thread, and other arguments of `explore`."""
        names = vars(sys.modules["case"])
        spec, calls = next((usual for method, usual in USUAL.items() if hasattr(factory, method)), USUAL["increment"])
        given: dict[str, Any] = eval(f"dict({self.one_of('how')})", names)
        for key in ("start", "end"):
            if text := self.one_of(key):
                given[f"at_{key}"] = calls_of(text)
        if self.all_of("invariant"):
            given["invariant"] = eval(f"lambda it: {self.one_of('invariant')}", names)
        made = names["Specification"] if "Specification" in names and not self.all_of("spec") else None
        threads = [calls_of(each) for each in self.one_of("calls", calls).split(" | ")]
        return (made or SPECS[self.one_of("spec", spec)])(), threads, given

    def explored(self, **more: Any) -> stress.Explored:
        """What `explore` says of it."""
        with self.made() as factory:
            spec, threads, given = self.asked(factory)
            return stress.explore(factory, spec, threads, **{"seed": 1, "duration": 60.0, **given, **more})


def calls_of(text: str) -> list[tuple[Any, ...]]:
    """The calls that a text makes, one after another."""
    calls = [each.value for each in ast.parse(text).body if isinstance(each, ast.Expr)]
    return [(ast.unparse(each.func), *map(ast.literal_eval, each.args)) for each in calls if isinstance(each, ast.Call)]


def cases_in(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    _, *blocks = re.split(r"^== ", path.read_text("utf-8"), flags=re.MULTILINE)
    common = ""
    for block in blocks:
        head, _, code = block.partition("\n\n")
        heading, *lines = head.split("\n")
        if heading == "common":
            common = code
            continue
        why, keys, each = _read(lines)
        for number, (star, text) in enumerate(each or [("", "")], 1):
            filled = {key: [_filled(line, text) for line in found] for key, found in keys.items()}
            for verdict, name, methods, quick in re.findall(r"(\w+) (\w+)(?:\((.*?)\))?(\*?)(?:, |$)", heading):
                locked = tuple(methods.split(", ")) if methods else ()
                is_quick = bool(quick) and (bool(star) or not each)
                of_each = number * bool(each)
                yield Case(
                    path.stem, name, verdict, is_quick, locked, filled, why, _filled(code, text), common, of_each
                )


def _read(lines: list[str]) -> tuple[str, dict[str, list[str]], list[tuple[str, str]]]:
    """Why, the keys, and the texts that make a case each."""
    why: list[str] = []
    keys: dict[str, list[str]] = {}
    each: list[tuple[str, str]] = []
    for line in lines:
        key, _, value = line.partition(": ")
        if line.startswith("|"):
            star, _, text = line[1:].partition(" ")
            each.append((star, text))
        elif key.rpartition(" ")[2] in KEYS:
            keys.setdefault(key, []).append(value)
        else:
            why.append(line)
    return " ".join(why), keys, each


def _filled(code: str, text: str) -> str:
    """A code with a text in the place of `EACH`, or its parts in theirs. What comes after `\\n` is a line of its own."""
    parts = text.split(" ;; ")

    def put(found: re.Match[str]) -> str:
        indent, before, number = found.groups()
        part = parts[int(number) - 1] if number else text
        return indent + before + part.replace("\\n", f"\n{indent}")

    return re.sub(r"^( *)(.*?)\bEACH(\d?)\b", put, code, flags=re.MULTILINE)


CASES: Final = [case for path in sorted(FOLDER.glob("*.txt")) for case in cases_in(path)]


def case_named(name: str) -> Case:
    """The first case of this name, as it stands: no call is made one at a time."""
    return next(each for each in CASES if each.name == name and not each.locked)
