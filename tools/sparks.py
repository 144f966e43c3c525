"""What works with which Spark: `make test-sparks`. Each has an environment of its own in build/sparks.

Each Spark comes with other versions of what it needs, so that the ranges of pyproject.toml are tested. They run with
the interpreter of this program, since its compiled modules are used. The reports become a table in docs/spark.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

SPARKS: Final = {
    "3.5": ["pyarrow==18.0.*", "pandas==2.1.*", "numpy<2", "setuptools"],
    "4.0": ["pyarrow==19.*", "pandas==2.2.*"],
    "4.1": ["pyarrow==21.*", "pandas==2.3.*"],
    "4.2": ["pyarrow==23.*", "pandas==2.3.*"],
    "4.3": ["pyarrow==26.*", "pandas==3.1.*"],
}
TESTS: Final = "tests/snapshot/test_sparks.py"
PIP: Final = ("pip", "install", "--disable-pip-version-check", "--only-binary", ":all:", "--no-binary", "pyspark")


def installed(spark: str) -> Path:
    """The interpreter of the environment of a Spark."""
    folder = Path("build", "sparks", spark)
    python, done = folder / "bin" / "python", folder / "installed"
    newest = max(Path(file).stat().st_mtime for file in ("pyproject.toml", __file__))
    if not done.exists() or done.stat().st_mtime < newest:
        print(f"== Setting up Spark {spark}", flush=True)
        venv.create(folder, with_pip=True, symlinks=True)
        wanted = ["--editable", ".[spark,test]", f"pyspark=={spark}.*", *SPARKS[spark]]
        subprocess.run([python, "-m", *PIP, *wanted], env={**os.environ, "CTRIE_NO_EXTENSIONS": "1"}, check=True)
        done.touch()
    return python


def main(arguments: list[str]) -> None:
    """Test all, and write the table."""
    reports = []
    for spark in SPARKS:
        python, report = installed(spark), Path("build", "sparks", f"{spark}.json")
        print(f"== Tests with Spark {spark}", flush=True)
        report.unlink(missing_ok=True)
        left_out = ("--deselect", f"{TESTS}::test_the_page_has_a_row_for_each_feature")
        pytest: list[str | Path] = [
            python,
            "-m",
            "pytest",
            "-o",
            "filterwarnings=default",
            TESTS,
            *left_out,
            *arguments,
        ]
        subprocess.run(pytest, env={**os.environ, "SPARKS_REPORT": str(report)}, check=True)
        reports.append(str(report))
    subprocess.run([sys.executable, "-m", "tests.snapshot.sparks_table", *reports], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
