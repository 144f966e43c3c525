# sh tools/require_python.sh PYTHON: ends well if that one can make the environments; else says what to install. There may
# be no Python at all yet, so a shell asks.
"$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exit
cat >&2 <<END
Python 3.11 or newer, with its venv module, is needed (found: ${1:-none}). Install it, for instance
    Debian, Ubuntu:  sudo apt-get install python3.11 python3.11-venv python3.11-dev
    Fedora:          sudo dnf install python3.11 python3.11-devel
    macOS:           brew install python@3.11
or name one: make PYTHON=/path/to/python3.11 ...
END
exit 1
