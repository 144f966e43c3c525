"""Places to publish in, and publishers that are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.snapshot.faulty_server import INTERPRETER, Server, serving
from tests.snapshot.support import running
from tests.snapshot.world import place


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where nothing has been published."""
    return place(getattr(request, "param", "directory"), tmp_path / "published", monkeypatch)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of S3's interface on this machine."""
    pytest.importorskip("obstore", reason="needs the extra `s3`")
    if INTERPRETER == sys.executable:
        pytest.importorskip("moto", reason="needs moto, of the extra `s3-server`")
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def publishers() -> Iterator[subprocess.Popen[str]]:
    with running("killed") as publishers:
        yield publishers
