"""What only the machine can provide: `python tools/needs.py java` or `brokers`. Any Python 3 runs it."""

import os
import re
import shutil
import subprocess
import sys

OLDEST_JAVA = 17
INSTALL_JAVA = """
    Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
    Fedora:          sudo dnf install java-21-openjdk-headless
    macOS:           brew install openjdk@17
or set JAVA_HOME to the folder of one that is installed, and run make again."""
BROKERS = ("mosquitto", "rabbitmq-server", "nats-server")


def java() -> str:
    """What to do about Java; empty if there is one for Apache Spark."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else "java"
    try:
        told = subprocess.run([program, "-version"], stderr=subprocess.PIPE, text=True).stderr
    except OSError:
        told = ""
    version = re.search(r' version "(?:1\.)?(\d+)', told)
    if version and int(version.group(1)) >= OLDEST_JAVA:
        return ""
    found = "version " + version.group(1) if version else "not found"
    need = f"Java {OLDEST_JAVA} or newer is needed, for Apache Spark"
    return f"{need} ({program}: {found}). Install it, for instance{INSTALL_JAVA}"


def brokers() -> str:
    """Install the servers that are missing, where apt-get can. Tests whose server cannot be installed are skipped."""
    missing = [name for name in BROKERS if not os.path.exists("/usr/sbin/" + name)]
    if missing and shutil.which("apt-get"):
        print(f"== Installing {', '.join(missing)} from the distribution's packages", flush=True)
        sudo = [] if os.getuid() == 0 else ["sudo"]
        subprocess.run([*sudo, "apt-get", "update", "--quiet=2"], check=True)
        install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--quiet=2", "--yes"]
        subprocess.run([*sudo, *install, "--no-install-recommends", *missing], check=True)
    return ""


if __name__ == "__main__":
    sys.exit({"java": java, "brokers": brokers}[sys.argv[1]]() or 0)
