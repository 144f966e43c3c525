"""Mutants: faults put into our own source, one at a time, to see which tests notice them.

A suite that finds no fault is worth as much as the faults that it would find. Each mutant is a small change of the
source, in a private copy of the packages. `catalogue` has them all, `layers` the tests that should catch them.
"""
