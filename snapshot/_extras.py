"""Imports packages of the extras; the error for a missing one says which extra installs it."""

from __future__ import annotations

import importlib
from typing import Any

EXTRAS = {"pyarrow": "arrow", "obstore": "s3"}
"""The extra of a package; any other belongs to ``spark``."""


def extra(module: str) -> Any:
    """Import ``module``, which belongs to an extra.

    Raises:
        ImportError: it is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        name = EXTRAS.get(module.partition(".")[0], "spark")
        raise ImportError(
            f"snapshot needs {module}, which cannot be imported ({missing}): pip install 'subtrie[{name}]'"
        ) from missing
