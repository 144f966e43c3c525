"""Benchmarks: all contenders side by side in one run, with raw results beside the plots.

    python -m benchmarks [name ...] [--quick]

Each file of `benchmarks.suite` is one benchmark: it names the contenders, and what one repeat of each does
(`benchmarks.model`). The runner (`benchmarks.runner`) repeats them in turn. Results are written as JSON together with a
description of the machine, drawn (`benchmarks.plots`), and put into tables (`benchmarks.tables`). One table goes into
the README (`benchmarks.readme`).
"""
