"""The compiled twin: which modules are compiled, how, and what happens if they cannot be compiled.

A failed compile is an error. `CTRIE_NO_EXTENSIONS=1` builds no module; then the interpreted twin runs, and warns. All
modules are compiled or none, because compiled modules share C types and cannot be mixed with interpreted ones.

An extension that was compiled in place and is newer than its sources goes into a wheel as it is.

`CTRIE_EXPLORED=1` takes the slots of `stress/tries/seam`, so that the explorer can run the compiled modules. Such
modules serve only the explorer, and are never put beside the sources: `make explored`.
`CTRIE_SANITIZE=address,undefined` compiles with these sanitizers of gcc: `make sanitize`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

sys.path.insert(0, str(Path(__file__).parent))  # pip does not run this file as a program
from tools import translation

MODULES = {
    "ctrie._native": "ctrie/_native.pyx",
    "ctrie._row": "ctrie/_row.pyx",
    "ctrie._tally": "ctrie/_tally.pyx",
    "ctrie._cnode": "ctrie/_cnode.pyx",
    "ctrie._nodes": "ctrie/_nodes.py",
    "ctrie._descent": "ctrie/_descent.py",
    "ctrie._bulk": "ctrie/_bulk.py",
    "ctrie._ctrie": "ctrie/_ctrie.py",
    "ctrie._set": "ctrie/_set.py",
    "subtrie._trie.keyed": "subtrie/_trie/keyed.py",
    "subtrie._trie.subscribers": "subtrie/_trie/subscribers.py",
    "subtrie._trie.groups": "subtrie/_trie/groups.py",
    "subtrie._trie.choosing": "subtrie/_trie/choosing.py",
    "subtrie._trie.packed_key": "subtrie/_trie/packed_key.pyx",
    "subtrie._trie.branch": "subtrie/_trie/branch.py",
    "subtrie._trie.frozen": "subtrie/_trie/frozen.py",
    "subtrie._trie.match.reading": "subtrie/_trie/match/reading.py",
    "subtrie._trie.match.answer_cache": "subtrie/_trie/match/answer_cache.py",
    "subtrie._trie.match.columns": "subtrie/_trie/match/columns.py",
    "subtrie._trie.match.audience": "subtrie/_trie/match/audience.py",
    "subtrie._trie.match.deliveries": "subtrie/_trie/match/deliveries.py",
    "subtrie._trie.match.traversal": "subtrie/_trie/match/traversal.py",
    "subtrie._trie.match.interleaved": "subtrie/_trie/match/interleaved.py",
    "subtrie._trie.match.dedupe": "subtrie/_trie/match/dedupe.py",
    "subtrie._trie.match.plan": "subtrie/_trie/match/plan.pyx",
    "subtrie._trie.match.topic_rules": "subtrie/_trie/match/topic_rules.py",
    "subtrie._trie.match.scratch": "subtrie/_trie/match/scratch.pyx",
    "subtrie._trie.match.questions": "subtrie/_trie/match/questions.py",
    "subtrie._trie.match.own_first": "subtrie/_trie/match/own_first.py",
    "subtrie._trie.match.interleaving_gate": "subtrie/_trie/match/interleaving_gate.py",
    "subtrie._trie.match.batches": "subtrie/_trie/match/batches.py",
    "subtrie._trie.editing": "subtrie/_trie/editing.py",
    "subtrie._trie.queries.listing": "subtrie/_trie/queries/listing.py",
    "subtrie._trie.queries.overlapping": "subtrie/_trie/queries/overlapping.py",
    "subtrie._trie.lookup": "subtrie/_trie/lookup.py",
    "subtrie._trie.topic_edits": "subtrie/_trie/topic_edits.py",
    "subtrie._trie.queries.topics_matching": "subtrie/_trie/queries/topics_matching.py",
    "subtrie._trie.topic_store": "subtrie/_trie/topic_store.py",
    "subtrie._trie.queries.growing": "subtrie/_trie/queries/growing.pyx",
    "subtrie._trie.queries.buffers": "subtrie/_trie/queries/buffers.py",
    "subtrie._trie.queries.columns": "subtrie/_trie/queries/columns.py",
    "subtrie._trie.reverse_index": "subtrie/_trie/reverse_index.py",
    "subtrie._trie.trie": "subtrie/_trie/trie.py",
    "subtrie._trie.filling": "subtrie/_trie/filling.py",
    "subtrie._trie.merging": "subtrie/_trie/merging.py",
    "subtrie.fields.criteria": "subtrie/fields/criteria.py",
    "subtrie.fields.texts": "subtrie/fields/texts.py",
    "subtrie.fields.combined": "subtrie/fields/combined.py",
    "subtrie.fields.intervals": "subtrie/fields/intervals.py",
    "subtrie.fields.boxes": "subtrie/fields/boxes.py",
    "subtrie.fields.maps": "subtrie/fields/maps.py",
    "subtrie.fields.index": "subtrie/fields/index.py",
    "subtrie.fields.needs": "subtrie/fields/needs.py",
    "subtrie.fields.equals": "subtrie/fields/equals.py",
    "subtrie.fields.state": "subtrie/fields/state.py",
    "subtrie.fields.search": "subtrie/fields/search.py",
    "subtrie.fields.matcher": "subtrie/fields/matcher.py",
    "subtrie.fields.routing": "subtrie/fields/routing.py",
}

COMMON_NAMES = ("snapshot", "stress")  # which other distributions have, too; see subtrie/_ours.py
PACKAGES = sorted({module.partition(".")[0] for module in MODULES})
SEAM = Path("stress", "tries", "seam")

RULES = ("setup.py", "tools/translation.py")

DIRECTIVES = {
    "language_level": 3,
    "freethreading_compatible": True,
    "allow_none_for_extension_args": False,  # None has no fields: who passes it gets a TypeError, not a crash
    "auto_pickle": False,  # nodes are not for pickling: from a forged pickle one could be made that is no node
    "annotation_typing": False,  # annotations are for type checkers; C types stand in .pxd files
    "binding": False,  # a bound call would count the shared function and the shared object up and down
    "boundscheck": False,
    "cdivision": True,
    "embedsignature": True,  # for help() and inspect.signature
    "embedsignature.format": "clinic",
    "initializedcheck": False,
    "wraparound": False,
}

# -O3 makes a module up to a third larger. Outside of matching, it saves at most two instructions in a hundred.
COMPILER_FLAGS = ["-O2", "-g0", "-std=gnu11"]
if platform.machine() in ("x86_64", "AMD64"):
    # Counting bits has been one instruction since 2008, but is a call by default. Prefetching memory for a write is an
    # instruction of its own; processors that do not know it ignore it.
    COMPILER_FLAGS += ["-mpopcnt", "-mprfchw"]

# In the modules that match, inline functions must be inlined. By default gcc gives up in modules with as much code as
# Cython makes.
_FAST = ["-O3", "--param", "inline-unit-growth=300"]
EXTRA_FLAGS = {
    module: _FAST
    for module in MODULES
    if (module.startswith("subtrie._trie.match.") and module != "subtrie._trie.match.reading")
    or module in ("subtrie._trie.queries.topics_matching", "subtrie.fields.search", "subtrie.fields.maps")
}  # fmt: skip

# Cython lets other modules call the functions that a .pxd declares, and gcc hesitates to inline such functions. A
# traversal calls its small functions for each node. A question calls its own once for each topic, and takes a tenth
# more instructions if they are not inlined.
_INLINE_ALL = ["-DCYTHON_INLINE=inline __attribute__((always_inline))"]
for _name in ("traversal", "questions", "interleaved"):
    EXTRA_FLAGS[f"subtrie._trie.match.{_name}"] = _FAST + _INLINE_ALL

# Without symbols, a wheel is a third as large. ThreadSanitizer names the places of a race by them.
RACING = "-fsanitize=thread" in (sysconfig.get_config_var("CFLAGS") or "")
LINKER_FLAGS = ["-Wl,-s"] if sys.platform == "linux" and not RACING else []

# One for each interpreter, since each may have its own Cython.
GENERATED = Path("build", f"cython.{sysconfig.get_config_var('SOABI')}")

FAILED = """
subtrie: the compiled modules could not be built ({reason}).
They need a C compiler and Python's headers (on Debian and Ubuntu: apt-get install gcc python3-dev).
To install without them, interpreted and many times slower: CTRIE_NO_EXTENSIONS=1 pip install 'subtrie[portable]'
"""


def switch(name: str) -> bool:
    """Return whether the environment variable `name` is set to anything but nothing or 0."""
    return os.environ.get(name, "") not in ("", "0")


LAST_FLAGS = []
if SANITIZERS := os.environ.get("CTRIE_SANITIZE", ""):
    LAST_FLAGS = ["-O0", "-g1", f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=undefined"]
    LINKER_FLAGS = [f"-fsanitize={SANITIZERS}"]

NO_EXTENSIONS = switch("CTRIE_NO_EXTENSIONS")
EXPLORED = switch("CTRIE_EXPLORED")
if EXPLORED:
    MODULES["explored_seam"] = str(SEAM / "explored_seam.pyx")
    COMPILER_FLAGS.append("-DCTRIE_EXPLORED")


def extensions() -> list[Extension]:
    """Return the extensions to build; each depends on all headers, and on the rules of its translation."""
    folders = [*map(Path, PACKAGES), *[SEAM] * EXPLORED]
    headers = sorted(header for folder in folders for header in folder.rglob("*.h"))
    return [
        Extension(
            module,
            [source],
            include_dirs=sorted({str(header.parent) for header in headers}),
            depends=[*map(str, headers), *RULES],
            extra_compile_args=COMPILER_FLAGS + EXTRA_FLAGS.get(module, []) + LAST_FLAGS,
            extra_link_args=LINKER_FLAGS,
        )
        for module, source in MODULES.items()
    ]


def directives_are_newer(source: str) -> bool:
    """Return whether this file was changed since `source` was translated to C."""
    c_source = (GENERATED / source).with_suffix(".c")
    return c_source.exists() and any(is_newer(Path(rules), c_source) for rules in RULES)


def is_newer(source: Path, library: Path) -> bool:
    """Return whether `source` exists and was changed since `library` was built."""
    return source.exists() and source.stat().st_mtime > library.stat().st_mtime


class BuildPython(build_py):
    """Keeps the beginning of each package of a common name, too, in case another distribution writes over it."""

    def build_module(self, module: str, module_file: str, package: str) -> Any:
        if module == "__init__" and package in COMMON_NAMES:
            kept = Path(self.build_lib, "subtrie", f"_first_of_{package}.py")
            kept.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(module_file, str(kept), preserve_mode=False)
        return super().build_module(module, module_file, package)


class BuildExtensions(build_ext):
    """Compiles all of `MODULES` or none, and leaves no outdated extension to hide an edited source."""

    extensions: list[Extension]

    def run(self) -> None:
        if EXPLORED and (self.inplace or self.editable_mode):
            sys.exit("CTRIE_EXPLORED does not build modules beside the sources: give --build-lib, or run make explored")
        super().run()
        if self.inplace or self.editable_mode:
            self.remove_in_place(keep={extension.name for extension in self.extensions})

    def build_extensions(self) -> None:
        self.translate_to_c()
        try:
            super().build_extensions()
        except (BaseError, CCompilerError) as failure:
            self.remove_in_place(keep=set())
            sys.exit(FAILED.format(reason=str(failure).partition("\n")[0][:200]))

    def build_extension(self, ext: Extension) -> None:
        library = Path(self.get_ext_filename(ext.name))
        # The C source among them is new if any declaration that it was translated with is new.
        sources = [Path(source) for source in (*ext.sources, *ext.depends, MODULES[ext.name])]
        if self.inplace or EXPLORED or not library.exists() or any(is_newer(source, library) for source in sources):
            super().build_extension(ext)
        else:
            target = Path(self.get_ext_fullpath(ext.name))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, target)

    def translate_to_c(self) -> None:
        translation.apply()
        translated = cythonize(
            self.extensions,
            build_dir=str(GENERATED),
            compiler_directives=DIRECTIVES,
            force=self.force or any(map(directives_are_newer, MODULES.values())),
        )
        for extension, c_extension in zip(self.extensions, translated, strict=True):
            extension.sources = c_extension.sources
            extension.depends = c_extension.depends

    def remove_in_place(self, keep: set[str]) -> None:
        """Remove this interpreter's extensions from beside the sources, all but `keep`."""
        suffix = Path(self.get_ext_filename("module")).name.removeprefix("module")
        for package in PACKAGES:
            for library in Path(package).rglob(f"*{suffix}"):
                if ".".join((*library.parts[:-1], library.name.removesuffix(suffix))) not in keep:
                    library.unlink()


if __name__ == "__main__":
    setup(
        ext_modules=[] if NO_EXTENSIONS else extensions(),
        cmdclass={"build_ext": BuildExtensions, "build_py": BuildPython},
    )
