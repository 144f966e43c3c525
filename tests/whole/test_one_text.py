"""One text for both twins: only a small part of the compiled twin's code may be code that the interpreted twin does not
run, and that part may load or change no slot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.whole.test_packaging import COMPILED_MODULES

pytestmark = pytest.mark.once

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("ctrie", "subtrie")
SLOTS_OWN: Final = {"ctrie/_native.pyx", "ctrie/_native.pxd", "ctrie/_row.pxd", "ctrie/c/slot.h", "ctrie/c/epoch.h"}
"""The slot's own files: its body, and what other files use to reach it."""
AT_MOST: Final = 0.20
"""The greatest share of lines without an interpreted text, of the lines of all compiled sources. It may only fall."""
ACCESS: Final = re.compile(
    r"\b(slot_read|slot_load|slot_compare_and_set|load|peek|compare_and_set|load_at|load_from)\("
)


def code_lines(source: Path) -> int:
    """The number of lines, without blank lines, comments and docstrings."""
    text = source.read_text()
    if source.suffix == ".h":
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    else:
        text = re.sub(r'^\s*[frb]*"""(?:.*?)"""\s*$', "", text, flags=re.DOTALL | re.MULTILINE)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", "//")))


def sources(*suffixes: str) -> dict[str, Path]:
    """The packages' sources by their names."""
    found = [path for package in PACKAGES for suffix in suffixes for path in (ROOT / package).rglob(f"*{suffix}")]
    return {str(path.relative_to(ROOT)): path for path in sorted(found)}


def test_lines_without_an_interpreted_text_are_few(record_property: Callable[[str, object], None]) -> None:
    alone = {name: code_lines(path) for name, path in sources(".pyx", ".h").items()}
    shared = sum(code_lines(ROOT / source) for source in COMPILED_MODULES.values() if source.endswith(".py"))
    share = sum(alone.values()) / (sum(alone.values()) + shared)
    listing = "\n".join(f"{lines:5} {name}" for name, lines in sorted(alone.items(), key=lambda item: -item[1]))
    report = f"{share:.1%} of the compiled twin's code has no interpreted text:\n{listing}"
    print(report)
    record_property("compiled only", f"{share:.3f}")
    assert share <= AT_MOST, report


def test_no_slot_is_touched_where_only_the_compiled_twin_runs() -> None:
    touching = {
        name
        for name, path in sources(".pyx", ".h", ".pxd").items()
        if name not in SLOTS_OWN and any(map(is_access, path.read_text().splitlines()))
    }
    assert not touching


def is_access(line: str) -> bool:
    """Whether a line of code, not of a declaration or a comment, loads or changes a slot."""
    code = re.split(r"#|/\*|^ \*", line)[0]
    return bool(ACCESS.search(code)) and not re.match(r"\s*(cdef|cpdef|static|PyObject \*slot|object slot|bint)", code)
