"""Make the files of a release, and check each as somebody would who installs it: `make release`.

python -m tools.release [--cut VERSION DATE]

`--cut` begins a version: it is written into ctrie/_version.py, and what CHANGELOG.md has as Unreleased becomes its
section. The release itself is a commit of these, a tag and what stands in dist/ afterwards.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
VERSION = ROOT / "ctrie" / "_version.py"
CHANGES = ROOT / "CHANGELOG.md"
SMOKE = ROOT / "tests" / "whole" / "wheel_smoke.py"
# Our headers are no part of a wheel, and it has four packages at the top on purpose.
WHEEL_CONTENTS = ("--ignore", "W009", "--toplevel", "ctrie,subtrie,snapshot,stress,subtrie_pytest.py")


def main(arguments: list[str]) -> int:
    """Cut a version, or build and check."""
    if arguments[:1] == ["--cut"] and len(arguments) == 3:
        cut(*arguments[1:])
        return 0
    if arguments:
        sys.exit(__doc__)
    check_changes()
    build_and_check()
    return 0


def cut(version: str, date: str) -> None:
    """Begin a version: its number, and its section in the change log."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        sys.exit("a version is three numbers, as 0.3.0, and a date is as 2026-01-31")
    text = CHANGES.read_text("utf-8")
    if "\n## Unreleased\n" not in text or f"\n## {version} " in text:
        sys.exit(f"CHANGELOG.md has no section Unreleased, or has {version} already")
    CHANGES.write_text(text.replace("\n## Unreleased\n", f"\n## Unreleased\n\n## {version} ({date})\n", 1), "utf-8")
    VERSION.write_text(re.sub(r'"[^"]+"$', f'"{version}"', VERSION.read_text("utf-8"), flags=re.MULTILINE), "utf-8")


def check_changes() -> None:
    """The version that is to be released has a section of its own, the first one with anything in it."""
    version = version_here()
    sections = re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", CHANGES.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    filled = [name for name, content in sections if content.strip()]
    if filled[:1] != [version]:
        sys.exit(
            f"CHANGELOG.md begins with {filled[:1]}, not with {version}: python -m tools.release --cut VERSION DATE"
        )


def version_here() -> str:
    """The version in the sources."""
    found = re.search(r'__version__ = "([^"]+)"', VERSION.read_text("utf-8"))
    assert found is not None
    return found[1]


def build_and_check() -> None:
    """Build both files, and check what they say and what is in them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    files = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    wheels = [str(file) for file in files if file.suffix == ".whl"]
    run(sys.executable, "-m", "check_wheel_contents", *WHEEL_CONTENTS, *wheels)
    for file in files:
        install_alone(file)
    print("checked:", *(file.name for file in files))


def install_alone(file: Path) -> None:
    """Install a file into an environment that has nothing else, and use it far from these sources."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "environment", with_pip=True)
        python = str(Path(folder) / "environment" / "bin" / "python")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(file))
        smoke = shutil.copy2(SMOKE, folder)
        run(python, "-X", "dev", "-W", "error", str(smoke), folder=folder)


def run(*command: str, folder: str | Path = ROOT) -> None:
    """Run a command, and say so; CalledProcessError if it fails."""
    print("==", *(word.replace(f"{ROOT}/", "") for word in command[1:]), flush=True)
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
