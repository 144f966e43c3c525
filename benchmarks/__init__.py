"""Benchmarks: everything side by side in one run, raw results beside the plots.

    python -m benchmarks [name ...] [--quick]

Each file of `benchmarks.suite` is one benchmark: it says who competes and what one repeat of each competitor
does (`benchmarks.model`). The runner (`benchmarks.runner`) repeats them in turn. Results are written as JSON
together with a description of the machine, drawn (`benchmarks.plots`) and put in tables (`benchmarks.tables`), of which
one goes into the README (`benchmarks.readme`).
"""
