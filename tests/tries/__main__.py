"""`python -m tests.tries`: this distribution's own structures under stress, every schedule of them, and mutants."""

from stress.__main__ import run

if __name__ == "__main__":
    run("tests.tries.cli")
