"""The compiled twin, by setuptools and Cython: each module that is written in Cython, or imports it, is an extension.

All are compiled or none, because compiled modules share C types and cannot be mixed with interpreted ones. A source
says at its top what it needs of the compiler or of Cython (`# distutils:`, `# cython:`).

`CTRIE_NO_EXTENSIONS=1` compiles nothing; then the interpreted twin runs, and warns.
`CTRIE_EXPLORED=1` takes the slots of `tests/tries/seam`, so that the explorer can run the compiled modules. They serve
only the explorer, and never stand beside the sources: `make explored`.
`CTRIE_SANITIZE=address,undefined` compiles with these sanitizers of gcc: `make sanitize`.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

COMMON_NAMES = ("snapshot", "stress")  # which other distributions have, too; see subtrie/_ours.py
SHARED = "ctrie._shared"  # what Cython would write into each module again
SEAM = "tests/tries/seam"
NO_EXTENSIONS, EXPLORED = (
    os.environ.get(f"CTRIE_{name}", "") not in ("", "0") for name in ("NO_EXTENSIONS", "EXPLORED")
)
SANITIZERS = os.environ.get("CTRIE_SANITIZE", "")
C_FOLDER = Path("build", "explored-c" if EXPLORED else "c", str(sysconfig.get_config_var("SOABI")))
ROOMS = ("ctrie", "subtrie")

DIRECTIVES = {
    "language_level": 3,
    "freethreading_compatible": True,
    "allow_none_for_extension_args": False,  # None has no fields: who passes it gets a TypeError, not a crash
    "auto_pickle": False,  # nodes are not for pickling: from a forged pickle one could be made that is no node
    "annotation_typing": False,  # annotations are for type checkers; C types stand in .pxd files
    "binding": False,  # a bound call would count the shared function and the shared object up and down
    "cdivision": True,
    "embedsignature": True,  # for help() and inspect.signature
    "embedsignature.format": "clinic",
    "infer_types": True,  # what a name gets is declared only where Cython could not tell it from what is assigned
    "initializedcheck": False,
    "wraparound": False,
}

# Tables for unwinding would make a module a tenth larger, and nothing is thrown through C.
COMPILER_FLAGS = ["-O2", "-g0", "-std=gnu11", "-fno-asynchronous-unwind-tables", "-fvisibility=hidden"]
COMPILER_FLAGS += ["-Wno-unused-function", "-include", "ctrie/c/append.h"]
# Vectors of two pointers save no instruction that matters. But what one branch stored as two words, another then
# loads as one vector, and the processor waits until both words have left its store buffer: the walk of a match took a
# sixth to a quarter more time so, in as many instructions.
COMPILER_FLAGS += ["-fno-tree-slp-vectorize"]
if platform.machine() in ("x86_64", "AMD64"):
    # Counting bits has been one instruction since 2008, but is a call by default. Prefetching memory for a write is an
    # instruction of its own; processors that do not know it ignore it.
    COMPILER_FLAGS += ["-mpopcnt", "-mprfchw"]
if EXPLORED:
    COMPILER_FLAGS += ["-DCTRIE_EXPLORED"]
# What a source may ask for at its top, `# distutils: extra_compile_args = FAST`.
ALIASES = {
    # What checks arguments, hands on, or is asked seldom: a third smaller, and sooner built.
    "SMALL": ["-Os", "-fno-gcse"],
    # What matches: by default gcc gives up inlining in modules with as much code as Cython makes.
    "FAST": ["-O3", "--param=inline-unit-growth=300"],
    # What calls its small functions for each node: Cython lets other modules call the functions that a .pxd declares,
    # and gcc hesitates to inline such functions, which takes a tenth more instructions.
    "INLINED": ["-DCYTHON_INLINE=inline __attribute__((always_inline))"],
}
# Without symbols, a wheel is a third as large. ThreadSanitizer names the places of a race by them.
RACING = "-fsanitize=thread" in (sysconfig.get_config_var("CFLAGS") or "")
LINKER_FLAGS = ["-Wl,-s"] if sys.platform == "linux" and not RACING else []
LAST_FLAGS = []
if SANITIZERS:
    LAST_FLAGS = ["-O0", "-g1", f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=undefined"]
    LINKER_FLAGS = [f"-fsanitize={SANITIZERS}"]

FAILED = """
subtrie: the compiled modules could not be built ({reason}).
They need a C compiler, Python's headers (on Debian and Ubuntu: apt-get install gcc python3-dev), and the Cython that
pyproject.toml names (pip install cython==...), which pip itself brings.
To install without them, interpreted and many times slower: CTRIE_NO_EXTENSIONS=1 pip install 'subtrie[portable]'
"""


def compiled_sources() -> dict[str, str]:
    """Return what is compiled, by the name of the module: what is written in Cython, imports it, or speaks to it."""
    texts = [path for room in ROOMS for path in sorted(Path(room).rglob("*.py*")) if path.suffix in (".py", ".pyx")]
    return {
        ".".join(path.with_suffix("").parts): path.as_posix()
        for path in texts
        if path.suffix == ".pyx" or any(mark in path.read_text("utf-8") for mark in ("\nimport cython\n", "# cython: "))
    }


def extensions() -> list[Extension]:
    """Translate to C what has changed, and return the extensions. Each depends on all headers."""
    headers = sorted(str(header) for folder in (*ROOMS, *[SEAM] * EXPLORED) for header in Path(folder).rglob("*.h"))
    folders = sorted({str(Path(header).parent) for header in headers})

    def of(sources: dict[str, str]) -> list[Extension]:
        return [
            Extension(name, [source], include_dirs=folders, depends=headers, extra_link_args=LINKER_FLAGS)
            for name, source in sources.items()
        ]

    made = translated(of({SHARED: "ctrie/_shared.c", **compiled_sources()}), shared_utility_qualified_name=SHARED)
    if EXPLORED:  # the seam is loaded before the packages, so it shares nothing with them
        made += translated(of({"explored_seam": f"{SEAM}/explored_seam.pyx"}))
    for extension in made:  # a source's own flags come after those of all
        extension.extra_compile_args = [*COMPILER_FLAGS, *extension.extra_compile_args, *LAST_FLAGS]
    return made


def translated(wanted: list[Extension], **options: Any) -> list[Extension]:
    """Return the extensions with their sources in C. All are translated anew after a change of this file.

    Each interpreter has a folder of its own: what one translates again must not look new to another, whose Cython was
    installed at another time.
    """
    try:
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError
    except ImportError:
        sys.exit(FAILED.format(reason="Cython is not installed"))
    folder, here = C_FOLDER, Path(__file__).stat().st_mtime
    written = [path for each in wanted if (path := folder / Path(each.sources[0]).with_suffix(".c")).exists()]
    try:
        made: list[Extension] = cythonize(
            wanted,
            nthreads=os.cpu_count(),
            build_dir=str(folder),
            force=any(path.stat().st_mtime < here for path in written),
            compiler_directives=DIRECTIVES,
            aliases=ALIASES,
            quiet=True,
            **options,
        )
    except CompileError:
        sys.exit(FAILED.format(reason=f"Cython {version('Cython')} does not translate them: see above"))
    return made


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
    """Builds all extensions or none, and leaves no outdated one beside a source to hide it."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel: int | None = os.cpu_count()

    def run(self) -> None:
        beside = self.inplace or self.editable_mode
        if EXPLORED and beside:
            sys.exit("CTRIE_EXPLORED does not build modules beside the sources: give --build-lib, or run make explored")
        kept = {extension.name for extension in self.extensions}
        try:
            super().run()
        except (BaseError, CCompilerError) as failure:
            kept = set()
            sys.exit(FAILED.format(reason=str(failure).partition("\n")[0][:200]))
        finally:
            for root in (Path(self.build_lib), *[Path()] * beside):
                remove_all_but(kept, root)


def remove_all_but(kept: set[str], root: Path) -> None:
    """Remove this interpreter's extensions of our packages below `root`, all but `kept`."""
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    for path in [path for room in ROOMS for path in (root / room).rglob(f"*{suffix}")]:
        if ".".join(path.relative_to(root).parts).removesuffix(suffix) not in kept:
            path.unlink()


if __name__ == "__main__":
    setup(
        ext_modules=[] if NO_EXTENSIONS else extensions(),
        cmdclass={"build_ext": BuildExtensions, "build_py": BuildPython},
    )
