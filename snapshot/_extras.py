"""Imports packages of the ``spark`` extra; the error for a missing one says how to install it."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str) -> Any:
    """Import ``module``, which belongs to the ``spark`` extra.

    :raises ImportError: it is not installed; the message names the command that installs it
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise ImportError(
            f"snapshot needs {module}, which cannot be imported ({missing}): pip install 'subtrie[spark]'"
        ) from missing
