"""Stands in for the `cython` module where Cython is not installed; our sources ask for one name of it."""

compiled = False
