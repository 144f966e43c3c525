"""Reads recorded histories of any known format. The content tells the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from stress.formats.edn import read_edn_value
from stress.formats.events import HISTORY_LINE, LOG_LINE, edn_events, log_events, pair_events
from stress.formats.jsonl import parse
from stress.history import UNSEEN, History, HistoryError
from stress.reference import spec_at
from stress.spec import Spec
from stress.specs import SPECS

_OWN: Final = re.compile(r'\s*(?:\{\s*"[^"]*"\s*:(?![A-Za-z])|\[\s*-?\d+\s*,(?!\s*:))')
"""The beginning of a header, or of an operation without one. A keyword instead shows that it is EDN."""
_EVENTS: Final = re.compile(r"(?:[\s,]++|;[^\n]*+)*+(?:[{\[(]|#[_{\w])")
_LINES: Final = {"log": LOG_LINE, "history": HISTORY_LINE}
_LOGGER: Final = "jepsen.util"
_EDN: Final = re.compile(r'(?:^|[\s,\[({])[;":]', re.MULTILINE)
"""The beginning of a comment, a string or a keyword. After one, the name of the logger is part of another event."""


def read_history(path: str | Path, spec: str | None = None, initial: Any = UNSEEN) -> tuple[History, Spec]:
    """The history in a file, and the specification to judge it by.

    Args:
        path: our JSON Lines, a jepsen log, or EDN event maps; the content tells which.
        spec: the name of a specification, or `module:Class` for your own; may be None for our own format, whose header
            names one.
        initial: the state at the start; by default the header's, or the specification's.

    Raises:
        HistoryError: the file cannot be read as a history; the message names file, line and reason.
    """
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not UTF-8: {error}"
        raise HistoryError(str(reason), source=source) from None
    kind = _kind(text, source)
    if kind == "jsonl":
        return _own_format(text, source, spec, initial)
    if spec is None:
        raise HistoryError("the file does not say what was recorded: name a specification with --spec", source=source)
    model = make_spec(spec, source) if initial is UNSEEN else make_spec(spec, source, initial=initial)
    events = edn_events(text, source) if kind == "edn" else log_events(text, _LINES[kind])
    return pair_events(events, model, source, is_log=kind != "edn")


def _kind(text: str, source: str) -> str:
    if _is_log(text):
        return "log"
    if _OWN.match(text):
        return "jsonl"
    if HISTORY_LINE.match(text):
        return "history"
    if _EVENTS.match(text):
        return "edn"
    rest = re.sub(r"\A(?:[\s,]++|;[^\n]*+)*+", "", text)
    told = "neither JSON Lines, nor a jepsen log, nor EDN event maps" if rest else "the file holds no operations"
    raise HistoryError(told, source=source, line=text.count("\n", 0, len(text) - len(rest)) + 1)


def _is_log(text: str) -> bool:
    """Whether some line is an event of a jepsen log, after any number of others. Lines that do not name jepsen's logger
    are skipped: there may be millions.
    """
    at = text.find(_LOGGER)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        if LOG_LINE.match(text, start, end) and not _EDN.search(text, start, at):
            return True
        at = text.find(_LOGGER, end)
    return False


def _own_format(text: str, source: str, spec: str | None, initial: Any) -> tuple[History, Spec]:
    history = parse(text, source)
    name = spec or history.header.get("spec")
    if not isinstance(name, str) or not name:
        raise HistoryError("the header names no specification: name one with --spec", source=source, line=1)
    if spec is None and ":" in name:  # a file must not decide which code is run
        raise HistoryError(f"it was judged by {name}: say --spec {name}, if that is yours", source=source, line=1)
    options = {key: history.header[key] for key in ("initial", "dialect") if key in history.header}
    if initial is not UNSEEN:
        options["initial"] = initial
    model = make_spec(name, source, **options)
    for operation in history:
        complaint = model.complaint(operation)
        if complaint is not None:
            which = f"{operation.op} of thread {operation.thread!r}, called at {operation.call}"
            raise HistoryError(f"{which}: {complaint}", source=source)
    return history, model


def make_spec(name: str, source: str = "--spec", **options: Any) -> Spec:
    """The specification of that name, with these options; `initial` is its start state."""
    if ":" in name:
        try:
            return spec_at(name, options)
        except ValueError as error:
            raise HistoryError(str(error), source=source) from None
    build: Callable[..., Spec] | None = SPECS.get(name)
    if build is None:
        there_are = f"there are {', '.join(SPECS)}, and module:Class for your own"
        raise HistoryError(f"there is no specification {name!r}: {there_are}", source=source)
    try:
        return build(**options)
    except (TypeError, ValueError) as error:
        told = ", ".join(f"{key} {value!r}" for key, value in options.items())
        raise HistoryError(f"{name} cannot start from {told}: {error}", source=source) from None


def parse_initial(text: str) -> Any:
    """A start state from the command line: nil, an integer, a string with or without quotes, or any EDN value.

    >>> parse_initial("nil"), parse_initial("0"), parse_initial('"x"'), parse_initial("x"), parse_initial("")
    (None, 0, 'x', 'x', '')
    """
    if not text.strip():
        return text
    if text in ("null", "None"):
        return None
    return read_edn_value(text, "--initial")
