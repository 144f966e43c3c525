"""One allocation fails, whichever it is, in every public call: MemoryError and nothing changed, or success.

Each case of `public_calls.py` is called once for every allocation that it asks for, with that one failing, and once
more with all from that one on failing. A call that makes several changes has made some of them when it is refused. The
same call, made again, makes what is left. At the end no thing in the tries has fewer references than before.

Of allocations of one size that the same chain of C functions asks for, two stand for the others, and the last one.
`STRESS_ALLOCATIONS=1`, as in `make sanitize`, lets each fail in its turn, and asks the interpreted twin, too. There the
interpreter allocates between any two lines, so a change may be made although it is refused; all else holds.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import importlib.util
import itertools
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

import pytest

import ctrie
from tests.public_calls import COLLIDING, THINGS, Case, all_cases, shown, uncovered
from tests.scripts import run_script

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "failing_allocations.c"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
EVERY = os.environ.get("STRESS_ALLOCATIONS", "0") != "0"
MOST = 4_000 if ctrie.twin == "compiled" else 20_000  # allocations of one call
OF_A_PLACE = 2 if ctrie.twin == "compiled" else 1
# SystemErrors that begin so are the interpreter's: the JSON encoder of 3.13 answers although it has no memory, an array of
# 3.14.0b2 as well; a function of Python's (not a compiled one) ends without an exception.
INTERPRETERS_FAULTS = ("<_json.Encoder object at", "<method 'append' of 'array.array' objects>", "<function ")
AT_ONCE = 8  # processes, so that a crash hides few cases


def compiled_hook(folder: Path) -> Path:
    library = folder / f"failing_allocations{SUFFIX}"
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    flags = ["-shared", "-fPIC", "-O1", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([*compiler, *flags, str(SOURCE), "-o", str(library)], check=True)
    return library


def load_hook(library: str) -> Any:
    loader = ExtensionFileLoader("failing_allocations", library)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def chosen(case: Case, hook: Any) -> Iterator[int]:
    """The allocations of a case that fail in turn. The last one is that which it does not ask for."""
    made = case.make()
    places = hook.places(lambda: case.call(made))
    if EVERY and ctrie.twin == "compiled":
        yield from itertools.count()
    last = {place: number for number, place in enumerate(places)}
    times: Counter[int] = Counter()
    for number, place in enumerate(places):
        times[place] += 1
        if times[place] <= OF_A_PLACE or number == last[place]:
            yield number
    yield from itertools.count(len(places))


def check_case(case: Case, hook: Any) -> list[str]:
    """Fail allocations of one case in turn; return what is wrong."""
    made = case.make()
    before = case.content(made)
    wanted = shown(case.call(made))
    after = case.content(made)
    wrong = []
    del made
    counts = references()
    for most in (1, MOST):
        for place in chosen(case, hook):
            made = case.make()
            answer, asked = None, MOST
            try:
                answer, refused, asked = hook.refusing(
                    lambda case=case, made=made: case.call(made), place, place + most
                )
                found = wrong_after(case, made, before, after, wanted, answer, refused)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is no MemoryError)
                found = "" if is_of_interpreter(error) else f"it raised {error!r}"
            if found:
                wrong.append(f"{case.name}: allocation {place}{' and all later' if most > 1 else ''} failed: {found}")
            del made, answer
            if place >= asked:
                break
            if place == MOST:
                wrong.append(f"{case.name}: more than {MOST} allocations")
                break
    # Not more: without memory, interpreters keep some for ever that they should drop, as when a list is extended.
    lost = [then - now for now, then in zip(references(), counts, strict=True) if now < then]
    if lost:
        wrong.append(f"{case.name}: references were given back twice: {lost}")
    return wrong


def is_of_interpreter(error: Exception) -> bool:
    """Whether it is a SystemError from code that is not ours. On 3.14.0b2 an encoder of JSON cannot be made, and says
    nothing of it."""
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, SystemError) and (
        str(error).startswith(INTERPRETERS_FAULTS) or "json" in Path(where).parts
    )


def wrong_after(case: Case, made: Any, before: Any, after: Any, wanted: Any, answer: Any, refused: bool) -> str:
    try:
        now = case.content(made)
        if not refused:
            if shown(answer) != wanted:
                return f"answered {shown(answer)!r}, not {wanted!r}"
            if now != after:
                return "it returned and has not made its change"
        elif case.changes == "one" and now != before and not (ctrie.twin == "interpreted" and now == after):
            return "it was refused and has changed something"
        elif case.changes != "not to be repeated":
            with contextlib.suppress(KeyError):  # it is removed already
                case.call(made)
            if case.content(made) != after:
                return "once more, and it has not made what was left of its changes"
        if hasattr(made, "check") and not (ctrie.twin == "interpreted" and getattr(made, "_index", None)):
            made.check()  # without memory the interpreted twin may keep a filter in the index until its next change
    except Exception as error:  # noqa: BLE001 (whatever it is, it is wrong)
        return repr(error)
    return ""


def references() -> list[int]:
    from ctrie import drain

    gc.collect()
    drain()
    gc.collect()
    return [sys.getrefcount(thing) for thing in (*THINGS, *COLLIDING)]


def main(library: str, names: list[str]) -> int:
    """Run in a process of its own, which a fault may end."""
    hook = load_hook(library)
    cases = all_cases()
    gc.collect()
    gc.freeze()  # or each case would wait for a look at all modules
    wrong: list[str] = []
    for name in names:
        print(name, file=sys.stderr, flush=True)
        wrong += check_case(cases[name], hook)
    print("\n".join(wrong))
    return len(wrong) > 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_hook(tmp_path_factory.mktemp("hook"))


def with_statements(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """Without memory an exception has no traceback, and Cython's code for the end of such a block reads it."""
    yield from (f"{node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.With))


def returns_within_except(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """Cython's code for such a return gives the missing traceback back. What only the interpreted twin runs is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "not cython.compiled":
            continue
        if isinstance(node, ast.ExceptHandler):
            yield from (f"{each.lineno}" for each in ast.walk(node) if isinstance(each, ast.Return))
        yield from returns_within_except(node, known)


def unions_asked(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """`isinstance(x, A | B)`: Cython looks at the types of C itself. Of any other class it takes want of memory for yes."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "isinstance"
            and isinstance(node.args[1], ast.BinOp)
        ):
            names = set(ast.unparse(node.args[1]).split(" | ")) - known - {"None", *dir(builtins)}
            yield from (f"{node.lineno}: {name}" for name in names)


# What nothing compiled has, and an example in which it is found.
WRONG_WITHOUT_MEMORY: list[tuple[Callable[[ast.AST, set[str]], Iterator[str]], str, list[str]]] = [
    (with_statements, "with f():\n    pass", ["1"]),
    (returns_within_except, "try:\n    f()\nexcept E:\n    return", ["4"]),
    (unions_asked, "isinstance(x, list | Mapping), isinstance(x, Here | None), isinstance(x, int)", ["1: Mapping"]),
]


@pytest.mark.parametrize(("find", "example", "found"), WRONG_WITHOUT_MEMORY)
def test_nothing_compiled_has_what_is_wrong_without_memory(find: Any, example: str, found: list[str]) -> None:
    assert list(find(ast.parse(example), {"Here"})) == found
    paths = [path for room in ("ctrie", "subtrie") for path in (ROOT / room).rglob("*.py")]
    sources = {path: text for path in paths if "\nimport cython\n" in (text := path.read_text("utf-8"))}
    assert len(sources) > 20
    for path, text in sources.items():
        types = path.with_suffix(".pxd")
        declared = set(re.findall(r"\w+", types.read_text("utf-8"))) if types.exists() else set()
        assert list(find(ast.parse(text), declared)) == [], path


def test_every_public_method_has_a_case() -> None:
    assert uncovered() == set()


def test_what_interpreters_get_wrong_never_fails(library: Path) -> None:
    """No module of ours takes part. Were it to fail, this would end by a signal on 3.12, 3.13 and without the GIL."""
    script = f"""
        from tests.whole.test_no_memory import load_hook
        refusing = load_hook({str(library)!r}).refusing
        one = object()
        def lists():
            return [one, one, one]
        def functions():
            return (lambda: one), any(text for text in "ab")
        for call in (lists, functions):
            for place in range(10):
                for _ in range(100):
                    call()
                    refusing(call, place, place + 1)
                    kept = [[number] * 3 for number in range(100)]
        """
    status, _, progress = run_script(textwrap.dedent(script))
    assert status == 0, progress[-300:]


SLOW = pytest.mark.slow("fails thousands of allocations; some of the public calls are asked in each run")


@pytest.mark.skipif(ctrie.twin == "interpreted" and not EVERY, reason="the interpreter allocates; STRESS_ALLOCATIONS=1")
@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=SLOW) for first in range(1, AT_ONCE))])
def test_every_allocation_of_every_public_call(first: int, library: Path) -> None:
    names = list(all_cases())[first::AT_ONCE]
    script = f"from tests.whole.test_no_memory import main; raise SystemExit(main({str(library)!r}, {names!r}))"
    status, wrong, progress = run_script(script)
    assert status == 0, f"{wrong}\nin the end: {progress[-300:]}"


if __name__ == "__main__":
    sys.exit(main(str(compiled_hook(Path(sys.argv[1]))), sys.argv[2:] or list(all_cases())))
