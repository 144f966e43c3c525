"""Make the files of a release, and check each as somebody would who installs it: `make release`.

python -m tools.release [--cut VERSION DATE]

`--cut` begins a version: it is written into ctrie/_version.py and CITATION.cff, and what CHANGELOG.md has as Unreleased
becomes its section. The release itself is a commit of these, a tag and what stands in dist/ afterwards.
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
CITATION = ROOT / "CITATION.cff"
SMOKE = ROOT / "tests" / "whole" / "wheel_smoke.py"
# A wheel has four packages at the top on purpose, and the first file of two of them twice: another distribution may
# write its own over `stress/__init__.py` and `snapshot/__init__.py`, and `subtrie.stress` still reaches ours.
WHEEL_CONTENTS = ("--ignore", "W002,W009", "--toplevel", "ctrie,subtrie,snapshot,stress,subtrie_pytest.py")


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
    """Begin a version: its number, its section in the change log, and how it is cited. Write all of them, or none."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        sys.exit("a version is three numbers, as 0.3.0, and a date is as 2026-01-31")
    text = CHANGES.read_text("utf-8")
    if "\n## Unreleased\n" not in text or f"\n## {version} " in text:
        sys.exit(f"CHANGELOG.md has no section Unreleased, or has {version} already")
    cited = f"version: {version}\ndate-released: {date}\n"
    written = {
        VERSION: replaced(VERSION, r'(?m)(?<=^__version__ = )"[^"]+"$', f'"{version}"'),
        CITATION: replaced(CITATION, r"(?m)^version: .*\n(date-released: .*\n)?", cited),
        CHANGES: text.replace("\n## Unreleased\n", f"\n## Unreleased\n\n## {version} ({date})\n", 1),
    }
    for path, content in written.items():
        path.write_text(content, "utf-8")


def replaced(path: Path, pattern: str, new: str) -> str:
    """The text of a file with the one place that a pattern describes changed; end this program if it is not one."""
    text, count = re.subn(pattern, new, path.read_text("utf-8"))
    if count != 1:
        sys.exit(f"{path.name} states its version {count} times, not once")
    return text


def check_changes() -> None:
    """The version that is to be released has a section of its own, the first one with anything in it, and is cited."""
    version = version_here()
    sections = re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", CHANGES.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    filled = [name for name, content in sections if content.strip()]
    again = "python -m tools.release --cut VERSION DATE"
    if filled[:1] != [version]:
        sys.exit(f"CHANGELOG.md begins with {filled[:1]}, not with {version}: {again}")
    if f"\nversion: {version}\n" not in CITATION.read_text("utf-8"):
        sys.exit(f"CITATION.cff does not cite {version}: {again}")


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
