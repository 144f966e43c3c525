"""The benchmarks. Each module has the benchmarks of one question, in `BENCHMARKS`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.model import Benchmark


def all_benchmarks() -> dict[str, Benchmark]:
    """Return the benchmarks by name, in the order of their names."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return {benchmark.name: benchmark for module in modules for benchmark in module.BENCHMARKS}
