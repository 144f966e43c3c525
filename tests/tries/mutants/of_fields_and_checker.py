"""Mutants of the field matcher and of the checker itself."""

from __future__ import annotations

from typing import Any, Final

from tests.tries.mutants.mutant import (
    Mutant,
)

_CHANGED: Final = "            if changed is state or compare_and_set(self._slot, state, changed):\n"
_COUNTED: Final = "            if compare_and_set(self._slot, state, known):\n"


def _of_fields(name: str, text: str, instead: str, module: str = "matcher", of: str = "fields", **needs: Any) -> Mutant:
    return Mutant(name, of, ((f"subtrie.fields.{module}", text, instead),), **needs)


FIELDS: Final = (
    _of_fields(
        "a change of fields that came too late is taken for made",
        _CHANGED,
        _CHANGED.replace("changed):", "changed) or True:"),
    ),
    _of_fields(
        "a change of fields takes the place of whatever is there",
        _CHANGED,
        _CHANGED.replace("self._slot, state,", "self._slot, load(self._slot),"),
    ),
    _of_fields(
        "a change of fields that came too late is made of the state that it lost to",
        "                changed, answer = step(state, *arguments)\n",
        "                changed, answer = step(state, *arguments)\n                state = load(self._slot)\n",
    ),
    _of_fields(
        "rows of an older state take the place of a newer one",
        _COUNTED,
        _COUNTED.replace("self._slot, state,", "self._slot, load(self._slot),"),
        shown_by=("empty", ((("hits", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "what changed while rows were made is not added to them",
        "            known = with_rows(state, known)\n",
        "            known = with_rows(state, known) if known is NO_ROWS else known\n",
        shown_by=("empty", ((("hits", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "several messages are matched at several instants",
        "        return _answers_to_many(state_of(self), messages, False)\n",
        "        return [self.match_all(message) for message in messages]\n",
        shown_by=("empty", ((("match_many", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "a snapshot of fields is the matcher itself",
        "        return self if self._readonly else self._with_state(state_of(self), True)\n",
        "        return self\n",
    ),
    _of_fields(
        "several subscriptions are made one by one",
        "        return self._change(with_many, (several, []))\n",
        "        return sum(self._change(with_subscription, each) for each in several)\n",
        shown_by=("empty", ((("subscribe_many", ((("f=1", "x"), ("f=1", "z")),)),), (("match", ("f=1",)),))),
    ),
    _of_fields(
        "what others change while several are made is lost",
        "            made[1] = _with_owner_of(made[1], state, subscriber, owner_hash)\n",
        "            pass\n",
        "state",
        shown_by=("empty", ((("subscribe_many", ((("f=1", "x"), ("f=1", "z")),)),), (("subscribe", ("f=1", "y")),))),
    ),
    _of_fields(
        "criteria of one hash are one criterion",
        "        if subscribed.hash == hash and asks(subscribed, criteria):\n",
        "        if True:\n",
        "state",
    ),
    _of_fields(
        "a range is found after it ends",
        "            if _lasts_at(node, i, point):\n",
        "            if True:\n",
        "intervals",
    ),
    _of_fields(
        "whatever the words before a wildcard lead to matches the topic",
        "        return type(access) is WordsAt and access.key[0] == ALL\n",
        "        return True\n",
        "topics",
        of="routes",
        shown_by=("a filter of each kind", ((("subscribe", ("@a.b.*", "w")), ("match", ("@a.b f=1",))),)),
    ),
)


def _of_checker(name: str, module: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "checker", ((f"stress.{module}", text, instead),))


CHECKER: Final = (
    _of_checker(
        "a blind write is taken at once",
        "specs.registers",
        'read_only = frozenset({"read"})',
        'read_only = frozenset({"read", "write"})',
    ),
    _of_checker(
        "what is pending must happen",
        "checker.segment",
        "                    if not left and state not in ended:\n",
        "                    if not left and taken.bit_count() == len(moves) - completed and state not in ended:\n",
    ),
    _of_checker(
        "what is pending never happens",
        "checker.segment",
        "        self.operations = completed + pending\n",
        "        pending = []\n        self.operations = completed + pending\n",
    ),
    _of_checker(
        "a return at the tick of a call comes first",
        "checker.segment",
        "events = [(each.call, 0, number) for number, each",
        "events = [(each.call, 2, number) for number, each",
    ),
    _of_checker(
        "a cut at the tick of a return",
        "checker.search",
        "        if operation.call > busy_until:\n",
        "        if operation.call >= busy_until:\n",
    ),
    _of_checker(
        "answers do not count",
        "spec",
        "        if fits(result, answer):\n",
        "        if True:\n",
    ),
    _of_checker(
        "what was tried is forgotten to be of a state",
        "checker.segment",
        "                known = tried[state]\n",
        "                known = tried[0]\n",
    ),
    _of_checker(
        "real time does not count",
        "checker.segment",
        "        for _, is_return, number in sorted(events):\n",
        "        for _, is_return, number in sorted(events, key=lambda event: event[1:]):\n",
    ),
    # A wrong order derived from the times (stress/specs/fifo.py and the like) gives no wrong verdict, only a slow one:
    # the result of a glance is still searched for, in a narrower object or a shorter history.
    _of_checker(
        "a queue of a known order has any length",
        "specs.buffers",
        "if fits(result, put - got) else ()",
        "if True else ()",
    ),
    _of_checker(
        "a walk that was left is not gone on with",
        "checker.search",
        "                        suspended.append((level, walk))\n",
        "                        pass\n",
    ),
    _of_checker(
        "a stack of a known order has any length",
        "specs.buffers",
        "return (state,) if fits(result, self._sizes[state]) else ()",
        "return (state,)",
    ),
    _of_checker(
        "a register of a known order lets a failed compare-and-set pass",
        "specs.registers",
        "return (state,) if result is False and here != args[0] else ()",
        "return (state,) if result is False else ()",
    ),
)
