"""Which tests notice which fault: `python -m tests.kills faults 400`, then `covered`, then `matrix`.

A fault is one change of one function's text: a comparison turned, a condition that always holds or never does, a bound
off by one, a call left out. They are drawn with a seed, from every room, at most one in a function. Everything runs on
the interpreted twin, in children of one process that has imported it: a child puts the changed code in place of the
right one and runs one test file. So a run takes as long as its tests.

`faults` writes them; `covered` notes which functions each test file calls; `matrix` runs each fault against the files
that call its function, and appends a line for each. It can be stopped at any time and goes on where it was.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

ROOMS = ("ctrie", "subtrie", "snapshot", "stress")
FOLDER = Path("build", "kills")
SELECTED = "not slow and not spark and not once"
SEED, LONGEST = 1, 60
"""Seconds that one file may take for one fault: who hangs is noticed."""
TURNED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def changes(function: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each change that can be made in a function: what it is, and what makes it in place."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
            yield f"line {node.lineno}: {ast.unparse(node)} turned", partial(_turn, node)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            for holds in (True, False):
                what = f"line {node.lineno}: {ast.unparse(node.test)} is {holds}"
                yield what, partial(setattr, node, "test", ast.Constant(holds))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield f"line {node.lineno}: {node.value} + 1", partial(setattr, node, "value", node.value + 1)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            what = f"line {node.lineno}: without {ast.unparse(node)}"
            yield what, partial(setattr, node, "value", ast.Constant(None))


def _turn(node: ast.Compare) -> None:
    node.ops[0] = TURNED[type(node.ops[0])]()


def functions(path: Path) -> Iterator[tuple[int, ast.AST]]:
    """The functions of a file, by the line of their code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield min([node.lineno, *(each.lineno for each in node.decorator_list)]), node


def draw(count: int) -> None:
    """Write so many faults, spread over the rooms as their functions are."""
    chance, places = random.Random(SEED), []
    for room in ROOMS:
        for path in sorted(Path(room).rglob("*.py")):
            places += [(str(path), line, len(list(changes(node)))) for line, node in functions(path)]
    chance.shuffle(places)
    drawn = [(path, line, chance.randrange(most)) for path, line, most in places if most][:count]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "faults.json").write_text(json.dumps(drawn))
    print(f"{len(drawn)} faults, seed {SEED}")


def changed_code(path: str, line: int, number: int) -> tuple[types.CodeType, types.CodeType, str]:
    """The code of a function, the same with a fault, and what that is."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    right = _code(compile(deepcopy(tree), path, "exec"), line)
    (node,) = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and _first(each) == line)
    what, change = list(changes(node))[number]
    change()
    return right, _code(compile(ast.fix_missing_locations(tree), path, "exec"), line), what


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _code(code: types.CodeType, line: int) -> types.CodeType:
    nested = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    for each in nested:
        if each.co_firstlineno == line and not each.co_name.startswith("<") and each.co_flags & 2:  # a function's
            return each
    for each in nested:
        try:
            return _code(each, line)
        except LookupError:
            continue
    raise LookupError(line)


def put_in_place(right: types.CodeType, wrong: types.CodeType) -> int:
    """Give the wrong code to all functions that have the right one; return how many there were."""
    key, found = (os.path.abspath(right.co_filename), right.co_firstlineno, right.co_name), 0
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType):
            code = each.__code__
            if (os.path.abspath(code.co_filename), code.co_firstlineno, code.co_name) == key:
                each.__code__ = wrong.replace(co_filename=code.co_filename, co_freevars=code.co_freevars)
                found += 1
    return found


def in_child(work: Callable[[], int], seconds: float) -> int | None:
    """The exit status of a child that does some work; None if it was ended by a signal, or took too long."""
    if (child := os.fork()) == 0:
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            os._exit(work())
        except BaseException:  # noqa: BLE001  (a child ends here, whatever comes)
            os._exit(70)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def tested(file: str) -> int:
    """Run the tests of a file, up to the first that fails."""
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", SELECTED]
    return int(pytest.main([*options, file]))


def files_of_tests() -> list[str]:
    """All files of tests."""
    return sorted(str(path) for path in Path("tests").rglob("test_*.py"))


def import_all() -> None:
    """Import the rooms here, so that no child has to."""
    import pytest  # noqa: F401

    for room in ROOMS:
        for path in sorted(Path(room).rglob("*.py")):
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            if path.stem not in ("__main__", "_portable"):
                try:
                    importlib.import_module(name)
                except ImportError as absent:
                    print(f"left out: {name}: {absent}")


def covered() -> None:
    """Note for each test file which functions it calls, and how many seconds it takes."""
    import_all()
    (FOLDER / "covered").mkdir(parents=True, exist_ok=True)
    for file in files_of_tests():
        note = FOLDER / "covered" / f"{file.replace('/', '.')}.json"
        if note.exists():
            continue
        began = time.monotonic()
        status = in_child(partial(_noted, file, note), 20 * LONGEST)
        print(f"{file}: {status}, {time.monotonic() - began:.0f} s", flush=True)


def _noted(file: str, note: Path) -> int:
    seen: set[tuple[str, int]] = set()
    here = str(Path.cwd()) + "/"

    def look(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(look)
    sys.setprofile(look)
    began = time.monotonic()
    status = tested(file)
    sys.setprofile(None)
    rooms = tuple(f"{room}/" for room in ROOMS)
    calls = sorted(
        {(path.removeprefix(here), line) for path, line in seen if path.removeprefix(here).startswith(rooms)}
    )
    note.write_text(json.dumps({"status": status, "seconds": time.monotonic() - began, "calls": calls}))
    return status


def matrix() -> None:
    """Run each fault against the files that call its function, the quickest first."""
    import_all()
    files: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for note in sorted((FOLDER / "covered").glob("*.json")):
        told = json.loads(note.read_text())
        if told["status"] == 0:
            for path, line in told["calls"]:
                files[path, line].append((told["seconds"], note.stem))
    names = {file.replace("/", "."): file for file in files_of_tests()}
    out = FOLDER / "matrix.jsonl"
    done = {tuple(json.loads(line)["fault"]) for line in out.read_text().splitlines()} if out.exists() else set()
    for fault in map(tuple, json.loads((FOLDER / "faults.json").read_text())):
        if fault in done:
            continue
        right, wrong, what = changed_code(*fault)
        results: dict[str, str] = {}
        for seconds, name in sorted(files[fault[:2]]):
            status = in_child(partial(_run, right, wrong, names[name]), min(LONGEST, 10 + 10 * seconds))
            results[names[name]] = {0: "passes", 70: "not placed", None: "hangs"}.get(status, "fails")
        with out.open("a") as lines:
            lines.write(json.dumps({"fault": fault, "what": what, "results": results}) + "\n")
        killers = sum(each in ("fails", "hangs") for each in results.values())
        print(f"{fault[0]} {what}: {killers} of {len(results)}", flush=True)


def _run(right: types.CodeType, wrong: types.CodeType, file: str) -> int:
    return tested(file) if put_in_place(right, wrong) else 70


def main() -> int:
    """Do one of the three."""
    if os.environ.get("CTRIE_TWIN") != "interpreted":
        again = {**os.environ, "CTRIE_TWIN": "interpreted", "CTRIE_EXPECT_TWIN": "interpreted"}
        return subprocess.call([sys.executable, "-m", "tests.kills", *sys.argv[1:]], env=again)
    if sys.argv[1:2] == ["faults"] and len(sys.argv) == 3:
        draw(int(sys.argv[2]))
    elif sys.argv[1:] == ["covered"]:
        covered()
    elif sys.argv[1:] == ["matrix"]:
        matrix()
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
