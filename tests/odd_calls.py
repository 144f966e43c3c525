"""Calls every class and function of the compiled modules, internal ones too, with arguments that they are not made for.

python -m tests.odd_calls [SEED [MODULE]]

A pickle that names only our modules can make each of these calls. Each module has a process of its own, and whatever ends
one is reported with the call that was made last. An exception is a right answer, and so is a result.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import inspect
import itertools
import mmap
import os
import pkgutil
import random
import re
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tests.public_calls import all_cases

SECONDS = 60  # of one module
CALLS = 8  # of one function for each number of arguments
MOST_ARGUMENTS = 6
TOLD = 2000  # bytes shown of what a process that ended badly has told
SPACE = 4 << 30  # bytes of address space that calls may add, so that an odd size is refused
NOT_CALLED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__doc__", "__getattribute__", "__dir__"}
PYTHONS = (object, threading.local)  # on 3.11, `threading.local().__delattr__` with no text may end the process
NEARLY = 40  # calls of one function with arguments that fit but for some
ASKED = re.compile(r"Argument '(\w+)' has incorrect type \(expected ")
EXPECTED = re.compile(r"(?:expected |to |Expected )(?:an? )?([\w.]+)")


class Odd:
    """Equal to all, and nothing else."""

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Longer(str):
    __slots__ = ("more",)


def plain_values() -> list[Any]:
    return [
        *(None, None, None, 0, -1, 1, 3, 2**31, 2**63, 2**70, True, 1.5, "", "a", "a/#", "a.b", "é", "\ud800", Longer("a")),
        *(b"", b"ab", (), (None,), ("a",), ("a", "b"), (1, 2), [], [None], ["a"], [()], [("a", 1)], {}, {"a": 1}),
        *([(None, None)], ((None,),), [None] * 100, {None}, frozenset("a"), iter([1, 2]), object(), Odd(), int, str, len, lambda *_: 1, range(3), slice(None), ...),
    ]  # fmt: skip


def compiled_modules() -> list[ModuleType]:
    import ctrie
    import subtrie

    names = [
        found.name
        for package in (ctrie, subtrie)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if "__main__" not in found.name and not found.name.startswith(("subtrie.snapshot", "subtrie.stress"))
    ]
    modules = []
    for name in names:
        with contextlib.suppress(ImportError):  # of the interpreted twin only
            modules.append(importlib.import_module(name))
    return [module for module in modules if (module.__file__ or "").endswith((".so", ".pyd"))]


def is_of(value: Any, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def derived(cls: type) -> Any:
    subclass: Any = type("Derived", (cls,), {})
    return subclass.__new__(subclass)


def unmade(cls: Any) -> list[Any]:
    """Objects of a class that no function of ours has made."""
    found = []
    for how in (lambda: cls.__new__(cls), cls, lambda: derived(cls)):
        try:
            found.append(how())
        except Exception:  # noqa: BLE001, S112 (this class refuses it)
            continue
    return found


def made(classes: set[type]) -> dict[type, list[Any]]:
    """Objects of these classes from the tries of public calls, as far as the collector of garbage knows them."""
    things: dict[type, list[Any]] = {}
    waiting = [case.make() for case in all_cases().values()]
    seen = {id(one) for one in waiting}
    while waiting:
        one = waiting.pop()
        if type(one) in classes and len(things.setdefault(type(one), [])) < 3:
            things[type(one)].append(one)
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, type | ModuleType):
                seen.add(id(other))
                waiting.append(other)
    return things


class Caller:
    """Calls things, and leaves a note of the last call where another process finds it."""

    def __init__(self, seed: int, note: mmap.mmap, modules: list[ModuleType]) -> None:
        self.random = random.Random(seed)
        self.note = note
        classes = {v for m in modules for v in vars(m).values() if isinstance(v, type) and is_of(v, m)}
        self.by_name = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in classes}
        self.things = made(classes)
        self.classes = sorted(classes, key=lambda cls: (cls.__module__, cls.__qualname__))
        self.odd = [*plain_values(), *(one for cls in self.classes for one in self.objects(cls)[:2])]
        self.calls = 0

    @functools.cache  # noqa: B019 (there is one caller)
    def objects(self, cls: type) -> list[Any]:
        return [*unmade(cls), *self.things.get(cls, [])]

    def arguments(self, number: int, fitting: list[Any]) -> list[Any]:
        """Odd ones, and some that this function has asked for."""
        return [
            self.random.choice(fitting if fitting and self.random.random() < 0.5 else self.odd) for _ in range(number)
        ]

    def wanted_by(self, error: Exception) -> list[Any]:
        """Objects of the classes that a message names."""
        classes = [cls for name in EXPECTED.findall(str(error)) for key, cls in self.by_name.items()
                   if key == name or key.endswith(f".{name}")]  # fmt: skip
        return [one for cls in classes for one in self.objects(cls)]

    def call(self, function: Callable[..., Any], label: str) -> None:
        fitting: list[Any] = []
        nones = [[None] * number for number in range(MOST_ARGUMENTS)]
        odd = (
            self.arguments(number, fitting) for number, _ in itertools.product(range(1, MOST_ARGUMENTS), range(CALLS))
        )
        for arguments in itertools.chain(nones, odd):
            error = self.error_of(function, arguments, label)
            if error is not None and len(fitting) < 20:
                fitting += self.wanted_by(error)
        self.call_nearly(function, label)

    def error_of(self, function: Callable[..., Any], arguments: list[Any], label: str) -> Exception | None:
        """Call it, and use what it answers; return what it raises. SystemError is never right."""
        self.say(f"{label}{tuple(map(described, arguments))}")
        self.calls += 1
        try:
            use(function(*arguments))
        except SystemError:
            raise
        except Exception as error:  # noqa: BLE001 (any other is right)
            return error
        return None

    def call_nearly(self, function: Callable[..., Any], label: str) -> None:
        """Call it with what it asks for where it says so, and with anything for its other arguments."""
        try:
            names = [*inspect.signature(function).parameters]
        except (TypeError, ValueError):
            return
        fit: dict[str, list[Any]] = {}
        for _ in range(NEARLY if names else 0):
            arguments = [self.random.choice(fit.get(name, self.odd if fit else [None])) for name in names]
            error = self.error_of(function, arguments, label)
            asked = None if error is None else ASKED.match(str(error))
            if error is not None and asked and asked[1] not in fit and (found := self.fitting(error)):
                fit[asked[1]] = found

    def fitting(self, error: Exception) -> list[Any]:
        """Objects of the class that a message names, Python's own, too."""
        kinds = EXPECTED.findall(str(error))
        return self.wanted_by(error) or [one for one in self.odd if type(one).__name__ in kinds]

    def call_all(self, module: ModuleType) -> None:
        for name, value in sorted(vars(module).items()):
            if not is_of(value, module):
                continue
            self.call(value, f"{module.__name__}.{name}")
            if isinstance(value, type):
                for attribute in sorted(set(dir(value)) - NOT_CALLED):
                    if any(getattr(value, attribute, None) is getattr(base, attribute, self) for base in PYTHONS):
                        continue
                    for one in self.objects(value):
                        self.call_attribute(one, attribute, f"{module.__name__}.{name}.{attribute}")
                gc.collect(0)  # of a class: without the GIL each looks at all objects, of whatever age
        gc.collect()

    def call_attribute(self, one: Any, attribute: str, label: str) -> None:
        self.say(f"{label} of {described(one)}")
        try:
            value = getattr(one, attribute)
        except Exception:  # noqa: BLE001 (any is right)
            return
        if callable(value):
            self.call(value, label)

    def say(self, text: str) -> None:
        encoded = text.encode(errors="backslashreplace")[: len(self.note) - 1]
        self.note[: len(encoded) + 1] = encoded + b"\0"

    def said(self) -> str:
        return self.note[:].partition(b"\0")[0].decode(errors="replace")


def described(one: Any) -> str:
    """What it is, without asking it."""
    plain = type(one) in (type(None), int, bool, float, str, bytes, tuple, list, dict)
    return repr(one)[:40] if plain else f"<{type(one).__qualname__}>"


def use(answer: Any) -> None:
    """What a caller does with an answer."""
    repr(answer)
    if hasattr(answer, "__next__"):
        list(itertools.islice(answer, 5))
    hash(answer)


def in_a_process(caller: Caller, module: ModuleType) -> str:
    """What ended the process that made the calls of one module; empty if nothing did."""
    with tempfile.TemporaryFile() as told:
        return ended(caller, module, told.fileno())


def space_taken() -> int:
    """Bytes of address space that this process has. Under a sanitizer it is nearly all that there is."""
    with open("/proc/self/statm", encoding="ascii") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()


def ended(caller: Caller, module: ModuleType, told: int) -> str:
    """The same. What the process tells goes to a file, since a sanitizer ends it with its report and status 1."""
    child = os.fork()
    if not child:
        status = 1
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(told, 2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            most = space_taken() + SPACE
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            caller.call_all(module)
            status = 0
        except SystemError as error:
            caller.say(f"{caller.said()} raises {error!r}")
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if not status:
        return ""
    how = (
        signal.Signals(os.WTERMSIG(status)).name
        if os.WIFSIGNALED(status)
        else f"status {os.waitstatus_to_exitcode(status)}"
    )
    report = os.pread(told, TOLD, max(os.fstat(told).st_size - TOLD, 0)).decode(errors="replace").strip()
    return f"{how}: {caller.said()}" + (f"\n{report}" if report else "")


def ended_by(seed: int, only: str = "") -> Iterator[str]:
    modules = compiled_modules()
    caller = Caller(seed, mmap.mmap(-1, 4096), modules)
    for module in modules:
        if only in module.__name__ and (found := in_a_process(caller, module)):
            yield found


if __name__ == "__main__":
    for line in ended_by(int(sys.argv[1]) if sys.argv[1:] else 1, "".join(sys.argv[2:3])):
        print(line, flush=True)
