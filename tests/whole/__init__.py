"""Tests of what is made of all rooms: the package, its pages, examples, benchmarks and command lines."""
