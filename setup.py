"""The compiled twin: which modules are compiled, how, and what happens if they cannot be compiled.

A failed compile is an error. `CTRIE_NO_EXTENSIONS=1` builds no module; then the interpreted twin runs, and warns. All
modules are compiled or none, because compiled modules share C types and cannot be mixed with interpreted ones.

All modules are linked into one library, `ctrie._compiled`. What has not changed is not built again, whatever the times
of files say. A module is translated to C again if its text, a declaration that it uses, or the way of translating has
changed; it is compiled again if its C, a header or a flag has. A library that was linked in place from the same inputs
goes into a wheel as it is, so one with other flags (sanitized, explored) does not.

`CTRIE_EXPLORED=1` takes the slots of `tests/tries/seam`, so that the explorer can run the compiled modules. Such
modules serve only the explorer, and are never put beside the sources: `make explored`.
`CTRIE_SANITIZE=address,undefined` compiles with these sanitizers of gcc: `make sanitize`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from Cython.Build.Dependencies import create_dependency_tree
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

sys.path.insert(0, str(Path(__file__).parent))  # pip does not run this file as a program
from tools import translation

ROOMS = ("ctrie", "subtrie")
WITHOUT_CYTHON = ("ctrie/_thread_owner.py", "subtrie/_trie/match/columns.py")  # plain Python, and compiled all the same


def compiled_sources() -> dict[str, str]:
    """Return what is compiled, by the name of the module: what is written in Cython, or imports it."""
    texts = [path for room in ROOMS for path in sorted(Path(room).rglob("*.py*")) if path.suffix in (".py", ".pyx")]
    return {
        ".".join(path.with_suffix("").parts): path.as_posix()
        for path in texts
        if path.suffix == ".pyx" or path.as_posix() in WITHOUT_CYTHON or "\nimport cython\n" in path.read_text("utf-8")
    }


SHARED = "ctrie/_shared.c"  # has no source of ours; see tools/translation.py
MODULES = {translation.SHARED: SHARED, **compiled_sources()}

COMMON_NAMES = ("snapshot", "stress")  # which other distributions have, too; see subtrie/_ours.py
LIBRARY = "ctrie._compiled"  # where all of them are
SEAM = Path("tests", "tries", "seam")

RULES = ("tools/translation.py", "tools/linking.py")

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

# What asks, changes and restores at full speed is compiled for speed. Tables for unwinding would make a module a tenth
# larger, and nothing is thrown through C.
COMPILER_FLAGS = ["-O2", "-g0", "-std=gnu11", "-fno-asynchronous-unwind-tables", "-fvisibility=hidden"]
# A wheel compresses the strings of all modules together, which is 27 kB less than each alone; importing is faster, too.
# Cython's function that would decompress them is not used then.
COMPILER_FLAGS += ["-DCYTHON_COMPRESS_STRINGS=0", "-Wno-unused-function"]
# Vectors of two pointers save no instruction that matters. But what one branch stored as two words, another then
# loads as one vector, and the processor waits until both words have left its store buffer: the walk of a match took a
# sixth to a quarter more time so, in as many instructions.
COMPILER_FLAGS += ["-fno-tree-slp-vectorize"]
if platform.machine() in ("x86_64", "AMD64"):
    # Counting bits has been one instruction since 2008, but is a call by default. Prefetching memory for a write is an
    # instruction of its own; processors that do not know it ignore it.
    COMPILER_FLAGS += ["-mpopcnt", "-mprfchw"]

# The other modules check arguments, hand on, or are asked seldom. For size, they are a third smaller and sooner built.
_SMALL = (
    "ctrie._set",
    "subtrie._trie.changeable",
    "subtrie._trie.duties",
    "subtrie._trie.frozen",
    "subtrie._trie.groups",
    "subtrie._trie.interest",
    "subtrie._trie.pickled_rows",
    "subtrie._trie.topic_edits",
    "subtrie._trie.topic_store",
    "subtrie._trie.trie",
    "subtrie._trie.match.own_first",
    "subtrie._trie.match.reading",
    "subtrie._trie.match.topic_rules",
    "subtrie._trie.queries.listing",
    "subtrie._trie.queries.overlapping",
    "subtrie.fields.boxes",
    "subtrie.fields.combined",
    "subtrie.fields.criteria",
    "subtrie.fields.intervals",
    "subtrie.fields.matcher",
    "subtrie.fields.needs",
    "subtrie.fields.routing",
    "subtrie.fields.state",
    "subtrie.fields.texts",
    "subtrie.fields.tree",
    translation.SHARED,
)
_SIZE = ["-Os", "-fno-gcse"]  # that pass takes a tenth of the compiler's time, and makes such modules larger
EXTRA_FLAGS = dict.fromkeys(_SMALL, _SIZE)

# In the modules that match, inline functions must be inlined. By default gcc gives up in modules with as much code as
# Cython makes. -O3 makes a module up to a third larger; elsewhere it saves at most two instructions in a hundred.
_FAST = ["-O3", "--param", "inline-unit-growth=300"]
_FASTER = (
    *(f"subtrie._trie.match.{name}" for name in (
        "answer_cache", "audience", "batches", "columns", "dedupe", "plan", "scratch"
    )),
    "subtrie._trie.queries.topics_matching",
    "subtrie.fields.maps",
    "subtrie.fields.search",
)  # fmt: skip
EXTRA_FLAGS |= dict.fromkeys(_FASTER, _FAST)

# Cython lets other modules call the functions that a .pxd declares, and gcc hesitates to inline such functions. A
# traversal calls its small functions for each node. A question calls its own once for each topic, and takes a tenth
# more instructions if they are not inlined.
_INLINE_ALL = ["-DCYTHON_INLINE=inline __attribute__((always_inline))"]
EXTRA_FLAGS |= {
    f"subtrie._trie.match.{name}": _FAST + _INLINE_ALL for name in ("traversal", "questions", "interleaved")
}

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
EXPLORER = {"explored_seam": str(SEAM / "explored_seam.pyx")} if EXPLORED else {}  # loaded before the library
TRANSLATED = {**MODULES, **EXPLORER}
if EXPLORED:
    COMPILER_FLAGS.append("-DCTRIE_EXPLORED")


def extensions() -> list[Extension]:
    """Return the library, and what the explorer needs beside it. Each depends on all headers."""
    folders = [*map(Path, ROOMS), *[SEAM] * EXPLORED]
    headers = sorted(header for folder in folders for header in folder.rglob("*.h"))
    return [
        Extension(
            name,
            [source],
            include_dirs=[*sorted({str(header.parent) for header in headers}), str(GENERATED)],
            depends=[*map(str, headers)],
            extra_compile_args=COMPILER_FLAGS + LAST_FLAGS,
            extra_link_args=LINKER_FLAGS,
        )
        for name, source in {**EXPLORER, LIBRARY: "ctrie/c/library.c"}.items()
    ]


def flags_of(module: str) -> list[str]:
    """Return the compiler's flags for a module of the library, where no two may have one name."""
    name = module.rpartition(".")[2]
    alone = ["-DCYTHON_NO_PYINIT_EXPORT", f"-DPyInit_{name}={definition_of(module)}"]
    return COMPILER_FLAGS + EXTRA_FLAGS.get(module, []) + alone + LAST_FLAGS


def definition_of(module: str) -> str:
    """Return the C function that has the definition of a module."""
    return f"define_{module.replace('.', '_')}"


def digest(*parts: bytes) -> str:
    """Return a digest that differs if any part does."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d " % len(part) + part)
    return whole.hexdigest()


def translated_from(source: str) -> str:
    """Return a digest of all that decides what `source` is in C. Cython's own declarations go with its version."""
    names: list[str] = []
    if source != SHARED:
        found = create_dependency_tree().all_dependencies(source)
        names = sorted(name for name in found if not Path(name).is_absolute())
    way = repr((version("Cython"), sorted(DIRECTIVES.items())))
    files = (*RULES, *names)
    return digest(way.encode(), *(part for name in files for part in (name.encode(), Path(name).read_bytes())))


def compiled_from(flags: list[str], files: list[str]) -> str:
    """Return a digest of all of ours that decides what these flags make of these files."""
    outside = (
        [os.environ.get(name) for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")],
        sysconfig.get_config_vars("CC", "CFLAGS", "LDSHARED"),
    )
    return digest(repr((flags, outside)).encode(), *(Path(name).read_bytes() for name in files))


def c_of(module: str) -> Path:
    """Return where a module's C is."""
    return (GENERATED / TRANSLATED[module]).with_suffix(".c")


def is_kept(record: Path, value: str) -> bool:
    """Return whether `record` holds this digest."""
    return record.exists() and record.read_text() == value


def take_from_another(module: str, value: str) -> bool:
    """Copy a module's C from what was made for another interpreter, by the same Cython; return whether it was there.

    What Cython writes does not depend on the interpreter: its C asks for the version when it is compiled.
    """
    name = Path(TRANSLATED[module]).with_suffix(".translated")
    for record in Path("build").glob(f"cython.*/{name}"):
        if is_kept(record, value) and record.with_suffix(".c").exists():
            c_of(module).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(record.with_suffix(".c"), c_of(module))
            return True
    return False


def translate_to_c(force: bool) -> None:
    """Translate what has changed, and list all modules for the library."""
    wanted = {name: translated_from(source) for name, source in TRANSLATED.items()}
    records = {name: c_of(name).with_suffix(".translated") for name in wanted}
    changed = [name for name in wanted if force or not c_of(name).exists() or not is_kept(records[name], wanted[name])]
    here = [name for name in changed if force or not take_from_another(name, wanted[name])]
    translation.translate({name: TRANSLATED[name] for name in here}, [*TRANSLATED], GENERATED, DIRECTIVES)
    for name in changed:
        records[name].write_text(wanted[name])
    listed = "".join(f'MODULE("{module}", {definition_of(module)})\n' for module in MODULES)
    (GENERATED / "modules.h").write_text(listed)


class Build(build):
    """Leaves nothing of an earlier build for the wheel, which takes all files that it finds."""

    def run(self) -> None:
        super().run()
        folder = Path(self.build_lib)
        is_ours = Path(self.build_base).resolve() in folder.resolve().parents
        if EXPLORED or not is_ours:  # `make explored` puts the scenarios there, too
            return
        commands = map(self.get_finalized_command, self.get_sub_commands())
        made = {Path(output) for command in commands for output in command.get_outputs()}
        for path in folder.rglob("*"):
            if path.is_file() and path not in made:
                path.unlink()


class BuildPython(build_py):
    """Keeps the beginning of each package of a common name, too, in case another distribution writes over it."""

    def kept(self) -> dict[str, str]:
        """Return these packages, and where their beginnings are kept."""
        names = () if EXPLORED else COMMON_NAMES
        return {name: str(Path(self.build_lib, "subtrie", f"_first_of_{name}.py")) for name in names}

    def build_module(self, module: str, module_file: str, package: str) -> Any:
        if module == "__init__" and package in self.kept():
            kept = self.kept()[package]
            self.mkpath(str(Path(kept).parent))
            self.copy_file(module_file, kept, preserve_mode=False)
        return super().build_module(module, module_file, package)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self.kept().values()]


class BuildExtensions(build_ext):
    """Builds all of `MODULES` or none, and leaves no outdated library to hide an edited source."""

    extensions: list[Extension]
    force: bool | None

    def run(self) -> None:
        if EXPLORED and (self.inplace or self.editable_mode):
            sys.exit("CTRIE_EXPLORED does not build modules beside the sources: give --build-lib, or run make explored")
        super().run()
        if self.inplace or self.editable_mode:
            self.remove_in_place(keep={extension.name for extension in self.extensions})

    def build_extensions(self) -> None:
        translate_to_c(bool(self.force))
        self.force = True  # what to compile and link is decided by content, here
        try:
            super().build_extensions()
        except (BaseError, CCompilerError) as failure:
            self.remove_in_place(keep=set())
            sys.exit(FAILED.format(reason=str(failure).partition("\n")[0][:200]))

    def build_extension(self, ext: Extension) -> None:
        if ext.name in EXPLORER:
            ext.sources = [str(c_of(ext.name))]
            super().build_extension(ext)
            return
        library = Path(self.get_ext_filename(ext.name))  # in place
        target = Path(self.get_ext_fullpath(ext.name))
        record = GENERATED / "linked"
        made_from = [self.object_from(ext, name)[1] for name in MODULES]
        own = compiled_from(
            [*ext.extra_compile_args, *ext.extra_link_args], [*ext.sources, str(GENERATED / "modules.h")]
        )
        inputs = digest(own.encode(), *(each.encode() for each in made_from)).encode()
        if library.exists() and is_kept(record, digest(inputs, library.read_bytes())):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)  # with the time of now: tests refuse what is older than its source
            return
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ext.extra_objects = list(pool.map(partial(self.compile_module, ext), MODULES))
        super().build_extension(ext)
        if not EXPLORED:  # an explored library never stands in place
            record.write_text(digest(inputs, target.read_bytes()))

    def object_from(self, library: Extension, module: str) -> tuple[Path, str]:
        """Return where a module's object is, and a digest of what it must have been compiled from."""
        source = str(c_of(module))
        (name,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        return Path(name), compiled_from([*flags_of(module), *library.include_dirs], [source, *library.depends])

    def compile_module(self, library: Extension, module: str) -> str:
        """Compile a module if it has changed; return its object."""
        made, inputs = self.object_from(library, module)
        record = made.with_suffix(".compiled")
        if not (made.exists() and is_kept(record, digest(inputs.encode(), made.read_bytes()))):
            self.compiler.compile(
                [str(c_of(module))],
                output_dir=self.build_temp,
                include_dirs=library.include_dirs,
                extra_postargs=flags_of(module),
            )
            record.write_text(digest(inputs.encode(), made.read_bytes()))
        return str(made)

    def remove_in_place(self, keep: set[str]) -> None:
        """Remove this interpreter's extensions from beside the sources, all but `keep`."""
        suffix = Path(self.get_ext_filename("module")).name.removeprefix("module")
        for room in ROOMS:
            for library in Path(room).rglob(f"*{suffix}"):
                if ".".join((*library.parts[:-1], library.name.removesuffix(suffix))) not in keep:
                    library.unlink()


if __name__ == "__main__":
    setup(
        ext_modules=[] if NO_EXTENSIONS else extensions(),
        cmdclass={"build": Build, "build_ext": BuildExtensions, "build_py": BuildPython},
    )
