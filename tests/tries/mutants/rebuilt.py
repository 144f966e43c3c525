"""Mutants of code that only the compiled twin runs, `.pyx` and headers, and mutants that only the compiled twin shows.
Each is compiled, in a copy of the sources and of `build/explored`, and explored in a separate process.

That takes a minute each, so they run only on request (tests/stress/test_compiled.py), as `make stress` does. Those that
need the ideal reclaimer run under valgrind's memcheck: not every use of freed memory is seen in what a process does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

from stress.explorer.scenario import Program, Scenario
from stress.explorer.strategies import bounded
from tests.tries.campaign import under_ideal_reclaimer
from tests.tries.source_copy import Change, source_of
from tests.tries.twins import Token, decode, encode, experiment_on, load_twin


@dataclass(frozen=True)
class Rebuilt:
    """A fault of the compiled twin: `text` of the file at `path` is replaced by `instead`. `shown_by` is the scenario
    to explore; `ideal`: with a reclaimer that releases as soon as the rules allow, under memcheck.
    """

    name: str
    path: str
    text: str
    instead: str
    shown_by: tuple[str, str, Program]
    ideal: bool = False

    def put_into(self, source: str) -> str:
        """The source with the fault."""
        return Change(self.name, self.path, self.text, self.instead).put_into(source)


_MATCH: Final = "subtrie/_trie/match/"
_INODE_AND_CNODE: Final = """\
    inode = cython.cast(INode, borrowed(node))
    cn = cython.cast(CNode, borrowed(main))
"""
_VALUE: Final = "value = borrowed(value_of(end))\n"
_GOES: Final = (("unsubscribe", ("a.b", "x")),)
_THROUGH: Final = "    elif outcome == THROUGH:\n"
_TAKING: Final = """\
        taken = take_found(q)
        if q.keep_seen and q.walk.seen.count <= NOTED * MOST_SEEN:
            take_seen(q)
"""
_TAKEN_TOGETHER: Final = "        if t.size > 0 and not take_found(question_at(group, i)):\n"
_MATCHES: Final = (("match", ("a.b",)),)
_A_MOVE: Final = (("subscribe", ("*.y1", "y")), ("unsubscribe", ("a.y1", "x")))
_TORN: Final = ("subscriptions", "a wildcard beside words that meet", ((("match", ("a.y1",)),), _A_MOVE))

REBUILT: Final = (
    Rebuilt(
        "a match in place has no second pass",
        f"{_MATCH}matching.py",
        " and not still_holds(t, root, first):\n",
        " and False:\n",
        _TORN,
    ),
    Rebuilt(
        "the second pass looks at the first I-node only",
        f"{_MATCH}matching.py",
        "        at += NOTED\n    return peek(root) is first\n",
        "        at = t.seen.count\n    return peek(root) is first\n",
        _TORN,
    ),
    Rebuilt(
        "an answer in place is remembered for ever",
        f"{_MATCH}answer_cache.py",
        "        if found is not borrow(None) and _still_hold(found):\n",
        "        if found is not borrow(None):\n",
        ("subscriptions", "an answer remembered", (_GOES, _MATCHES)),
    ),
    Rebuilt(
        "a match in place goes past a pending write",
        f"{_MATCH}matching.py",
        "    if peek(main) is borrow(None):\n        return False\n",
        "    if peek(main) is borrow(None) or True:\n        return False\n",
        (
            "subscriptions",
            "words about to meet",
            ((("subscribe", ("a.y3", "x")),), (("snapshot", ()), ("match", ("a.y3",)), ("subscriptions", ()))),
        ),
    ),
    Rebuilt(
        "a remembered answer is read without a pin",
        f"{_MATCH}answer_cache.py",
        "    pin()\n    table = peek_at(",
        "    table = peek_at(",
        ("subscriptions", "an answer remembered", (_GOES, _MATCHES)),
    ),
    Rebuilt(
        "words of one hash are one word",
        "subtrie/_trie/c/words.h",
        "    return !(w->hash & LONG_WORD) || long_word_begins(w, text, separator);\n",
        "    return 1;\n",
        ("subscriptions", "words of one hash", ((("match", ("same3",)),), (("unsubscribe", ("same2", "x")),))),
    ),
    Rebuilt(
        "a C-node's copy has the branch in the wrong place",
        "ctrie/c/cnode.h",
        "    return (array_part){((ctrie_cnode *)cn)->branches, cnode_size(cn), kept, skipped, branch};\n",
        "    return (array_part){((ctrie_cnode *)cn)->branches, cnode_size(cn), 0, skipped, branch};\n",
        ("map", "one key", ((("__setitem__", ("b", 1001)),), (("get", ("a",)),))),
    ),
    Rebuilt(
        "a C-node is taken after the pin under which it was found",
        "ctrie/_descent.py",
        f"{_INODE_AND_CNODE}    unpin()\n",
        f"    unpin()\n{_INODE_AND_CNODE}",
        ("map", "one key", ((("__setitem__", ("a", 1001)),), (("__setitem__", ("a", 1002)),))),
        ideal=True,
    ),
    Rebuilt(
        "a value is taken after the pin under which its pair was found",
        "ctrie/_descent.py",
        f"            {_VALUE}            unpin()\n",
        f"            unpin()\n            {_VALUE}",
        ("map", "one key", ((("get", ("a",)),), (("__setitem__", ("a", 1001)),))),
        ideal=True,
    ),
    Rebuilt(
        "subscribers are taken after the pin under which they were found",
        f"{_MATCH}matching.py",
        _THROUGH + _TAKING + "    unpin()\n",
        _THROUGH + "        unpin()\n" + _TAKING + "    if outcome != THROUGH or q.walk.only_first:\n        unpin()\n",
        (
            "subscriptions",
            "a wildcard beside words that meet",
            ((("match", ("a.y1",)),), (("unsubscribe", ("a.y1", "x")),)),
        ),
        ideal=True,
    ),
    Rebuilt(
        "topics side by side have no second pass",
        f"{_MATCH}interleaved.py",
        "not still_holds(t, root, first)",
        "False",
        ("subscriptions", "a wildcard beside words that meet", ((("match_many", ("a.y1",)),), _A_MOVE)),
    ),
    Rebuilt(
        "subscribers of topics side by side are taken under another pin",
        f"{_MATCH}interleaved.py",
        _TAKEN_TOGETHER,
        f"        unpin()\n        pin()\n{_TAKEN_TOGETHER}",
        (
            "subscriptions",
            "a wildcard beside words that meet",
            ((("match_many", ("a.y1",)),), (("unsubscribe", ("a.y1", "x")),)),
        ),
        ideal=True,
    ),
)

_ROOT: Final = source_of("ctrie").parent.parent
_MEMCHECK: Final = ("valgrind", "--quiet", "--undef-value-errors=no")
_SAMPLES: Final = 1_000
_MOST: Final = 40_000
"""The number of executions within which a mutant has to be found."""
_SECONDS: Final = 900
_COPIED: Final = (
    "ctrie",
    "subtrie",
    "snapshot",
    "stress",
    "tests/tries/seam",
    "setup.py",
    "tools",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


def can_be_built() -> bool:
    """Whether the sources, the results of `make explored` and valgrind are present."""
    needed = (_ROOT / "setup.py", _ROOT / "build/explored/built")
    return all(path.exists() for path in needed) and shutil.which(_MEMCHECK[0]) is not None


def trouble_of(mutant: Rebuilt) -> tuple[int, str]:
    """What exploring the mutant shows, empty if nothing, and the number of executions.

    Raises:
        StaleChange: its text does not occur in the source exactly once.
        RuntimeError: it does not compile.
    """
    with tempfile.TemporaryDirectory(dir=_ROOT / "build", prefix="mutant.") as folder:
        copy = Path(folder)
        generated = f"build/explored-c/{sysconfig.get_config_var('SOABI')}"
        for name in (*_COPIED, generated, "build/explored"):
            source = _ROOT / name
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy2(source, copy / name)
        changed = copy / mutant.path
        changed.write_text(mutant.put_into(changed.read_text(encoding="utf-8")), encoding="utf-8")
        words = ["setup.py", "--quiet", "build", "--build-base", "build/explored", "--build-lib", "build/explored/lib"]
        built = subprocess.run(
            [sys.executable, *words], cwd=copy, env={**os.environ, "CTRIE_EXPLORED": "1"},
            capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        if built.returncode:
            raise RuntimeError(f"{mutant.name} does not compile: {built.stderr[-2000:]}")
        return explored(Scenario(*mutant.shown_by), mutant.ideal, copy)


def explored(scenario: Scenario, ideal: bool = False, folder: Path | None = None) -> tuple[int, str]:
    """The same of the code as it is, or as it is in a folder."""
    modules = (folder or _ROOT) / "build/explored/lib"
    settings = {"PYTHONHASHSEED": "0", "CTRIE_TWIN": "compiled", "PYTHONPATH": str(modules)}
    settings |= {"PYTHONMALLOC": "malloc"} if ideal else {}
    ran = subprocess.run(
        [*_MEMCHECK * ideal, sys.executable, "-m", "tests.tries.mutants.rebuilt", encode(Token(scenario, ())), *["ideal"] * ideal],
        cwd=modules, env={**os.environ, **settings}, capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if ran.returncode < 0:
        return 0, f"the process was ended by signal {-ran.returncode}"
    if ran.returncode:
        raise RuntimeError(ran.stderr[-2000:])
    executions, _, told = ran.stdout.strip().partition(" ")
    return int(executions), told


def _main(token: str, ideal: bool) -> None:
    """Run in the process: print the number of executions until a finding, and the finding."""
    twin = load_twin(True, ideal)
    count, told = 0, ""
    experiment = experiment_on(twin, decode(token).scenario)
    attempts = under_ideal_reclaimer(experiment, Random(1), _SAMPLES) if ideal else bounded(experiment, 2)
    for finding in islice(attempts, _MOST):
        count += 1
        if finding is not None:
            told = finding.trouble
            break
    print(count, told)


if __name__ == "__main__":
    _main(sys.argv[1], "ideal" in sys.argv)
