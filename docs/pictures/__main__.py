"""The pictures of the manual, drawn from real tries: `make pictures`.

Tries are built and changed, and what hangs below their roots is drawn as it is. A text's hash decides where a branch
stands, so Python has to run with PYTHONHASHSEED=0 for a picture to come out the same again; and the nodes can be looked
into in the interpreted twin only.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import ctrie
from docs.pictures.drawing import Box, Line, Panel, drawing
from subtrie import MQTT, SubscriptionTrie

FOLDER = Path(__file__).parent
nodes: Any = import_module("ctrie._nodes")  # and all that it has imported for itself


class Scene:
    """What is drawn, panel after panel: what was not there in the panel before is marked as new."""

    def __init__(self, **roots: Any) -> None:
        self.roots = roots
        self._met: dict[
            int, Any
        ] = {}  # nodes by what tells them apart; kept, so that none gets the number of another
        self._known: set[int] = set()
        self._generations: dict[Any, int] = {}
        self.look("")

    def look(self, heading: str) -> Panel:
        """Draw what the roots lead to now."""
        panel = Panel(heading)
        for name, root in self.roots.items():
            panel.boxes[name] = Box(
                [name], "frozen" if root.readonly else "old", round=True
            )
            panel.tops.append(name)
            self._lead(panel, name, None, nodes.load(root))
        self._known.update(self._met)
        return panel

    def _lead(
        self,
        panel: Panel,
        start: Any,
        cell: int | None,
        node: Any,
        label: str = "",
        dashed: bool = False,
    ) -> None:
        panel.lines.append(Line(start, id(node), cell, label, dashed))
        if id(node) in panel.boxes:
            return
        self._met[id(node)] = node
        tone = "old" if id(node) in self._known else "new"
        if isinstance(node, nodes.INode):
            number = self._generations.setdefault(node.gen, len(self._generations) + 1)
            panel.boxes[id(node)] = Box([f"I{number}"], tone, round=True)
            self._lead(panel, id(node), None, nodes.load(node))
        elif isinstance(node, nodes.FailedNode):
            panel.boxes[id(node)] = Box(["failed"], "lost", round=True)
            self._lead(panel, id(node), None, node.wrapped)
        else:
            self._lead_on(panel, node, tone)

    def _lead_on(self, panel: Panel, main: Any, tone: str) -> None:
        branches = nodes.branches_of(main)
        panel.boxes[id(main)] = Box([_named(branch) for branch in branches], tone)
        for number, branch in enumerate(branches):
            if branch.next is not None:
                self._lead(panel, id(main), number, branch.next)
        if (before := nodes.load(main)) is not None:
            self._lead(panel, id(main), None, before, "prev", dashed=True)


def _named(branch: Any) -> str:
    return branch.key if branch.value is None else f"{branch.key}\n{branch.value}"


def routes() -> Any:
    """Return the trie that each picture begins with."""
    trie: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    trie.subscribe("sensors/+/heat", "alarm")
    trie.subscribe("sensors/cellar/#", "caretaker")
    trie.subscribe("shop/orders", "billing")
    return trie


def a_subscribe() -> str:
    trie = routes()
    scene = Scene(routes=trie._root)
    before = scene.look("Before")
    trie.subscribe("sensors/cellar/heat", "boiler")
    after = scene.look('After subscribe("sensors/cellar/heat",\n"boiler")')
    return drawing(
        "A subscription trie before and after a subscribe", [[before, after]]
    )


def a_snapshot() -> str:
    trie = routes()
    scene = Scene(routes=trie._root)
    scene.roots["snapshot"] = trie.snapshot()._root
    taken = scene.look("1. After snapshot()")
    trie.subscribe("shop/returns", "billing")
    once = scene.look('2. After the next write,\nsubscribe("shop/returns", "billing")')
    trie.subscribe("sensors/hall", "light")
    twice = scene.look('3. After another, subscribe("sensors/hall", "light")')
    return drawing(
        "A snapshot, and the copies that the writes after it make",
        [[taken, once], [twice]],
    )


def a_lost_gcas() -> str:
    """A snapshot comes between the two steps of a write, as another thread's may."""
    trie = routes()
    scene = Scene(routes=trie._root)
    seen: list[Panel] = []
    may_commit, compare_and_set = nodes._may_commit, nodes.compare_and_set

    def asked(root: Any, inode: Any) -> bool:
        if "snapshot" not in scene.roots:
            seen.append(
                scene.look("1. The new node is in place,\nand pending: it has a prev")
            )
            scene.roots["snapshot"] = trie.snapshot()._root
            seen.append(
                scene.look(
                    "2. Another thread takes a snapshot:\nthe root is of generation 2"
                )
            )
        return bool(may_commit(root, inode))

    def exchanged(slot: Any, expected: Any, new: Any) -> bool:
        failed = isinstance(expected, nodes.MainNode) and isinstance(
            nodes.load(expected), nodes.FailedNode
        )
        done = compare_and_set(slot, expected, new)
        if isinstance(new, nodes.FailedNode):
            seen.append(
                scene.look("3. The I-node is not: the write\nis marked as failed")
            )
        elif failed:
            seen.append(scene.look("4. The old node is back\nin its place"))
        return bool(done)

    with mock.patch.multiple(nodes, _may_commit=asked, compare_and_set=exchanged):
        trie.subscribe("sensors/hall", "light")
    seen.append(
        scene.look(
            "5. The writer has started again, and copied\nits way into generation 2"
        )
    )
    return drawing(
        "A GCAS that loses against a snapshot", [seen[:2], seen[2:4], seen[4:]]
    )


PICTURES = {
    "subscribe.svg": a_subscribe,
    "snapshot.svg": a_snapshot,
    "gcas-that-loses.svg": a_lost_gcas,
}


def main(folder: Path) -> None:
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    if ctrie.twin != "interpreted" or os.environ.get("PYTHONHASHSEED") != "0":
        sys.exit(
            "run this as `make pictures` does: CTRIE_TWIN=interpreted PYTHONHASHSEED=0 python -m docs.pictures"
        )
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
