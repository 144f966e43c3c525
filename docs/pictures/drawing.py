"""Drawings of nodes: boxes in layers, and what leads from one to another, as SVG.

A drawing has a transparent ground. Each box brings its own, light one with dark text, and lines and headings are of a
grey that can be read on white and on black: one file does for light and for dark pages, whatever switches between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from html import escape

LETTER, FONT, LINE = 7.3, 12, 18
PAD, GAP, LAYER, MARGIN = 8, 22, 52, 26
GREY, DARK = "#7d7d7d", "#1c1c1c"
TONES = {"old": "#cfe0f5", "new": "#ffd9a0", "lost": "#f2b8b5", "frozen": "#dcdcdc"}


@dataclass
class Box:
    """A node as it is drawn: a row of cells, each of them with lines of text."""

    cells: list[str]
    tone: str = "old"
    round: bool = False
    x: float = 0.0
    layer: int = 0

    def widths(self) -> list[float]:
        return [
            max(len(line) for line in cell.split("\n")) * LETTER + 2 * PAD
            for cell in self.cells
        ] or [3 * PAD]

    def width(self) -> float:
        return sum(self.widths())

    def height(self) -> float:
        return LINE * max([cell.count("\n") + 1 for cell in self.cells], default=1) + 6

    def exit(self, cell: int | None) -> float:
        """Return where a line leaves the box: below a cell, or below the middle."""
        if cell is None:
            return self.x + self.width() / 2
        return self.x + sum(self.widths()[:cell]) + self.widths()[cell] / 2


@dataclass(frozen=True)
class Line:
    """What leads from one box, or one cell of it, to another box."""

    start: Hashable
    end: Hashable
    cell: int | None = None
    label: str = ""
    dashed: bool = False


@dataclass
class Panel:
    """One state of a structure: its boxes by what they stand for, and the lines between them."""

    heading: str
    boxes: dict[Hashable, Box] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    tops: list[Hashable] = field(default_factory=list)

    def size(self) -> tuple[float, float]:
        """Return the width and the height of the panel, once its boxes have their places."""
        right = max(box.x + box.width() for box in self.boxes.values())
        longest = max(map(len, self.heading.split("\n")))
        return max(right, longest * LETTER), self._top_of(
            self._layers()
        ) - LAYER + LINE + 6

    def _heading(self) -> int:
        return LINE * (self.heading.count("\n") + 1) + 8

    def place(self) -> None:
        """Give each box its layer, below all that lead to it, and its place there: above what it alone leads to."""
        for _ in self.boxes:
            for line in self.lines:
                end = self.boxes[line.end]
                end.layer = max(end.layer, self.boxes[line.start].layer + 1)
        placed: set[Hashable] = set()
        ends = [0.0] * (self._layers() + 1)
        for top in self.tops:
            self._place(top, placed, ends)

    def _place(self, at: Hashable, placed: set[Hashable], ends: list[float]) -> None:
        placed.add(at)
        box = self.boxes[at]
        own = []
        for line in sorted(
            (line for line in self.lines if line.start == at),
            key=lambda line: line.cell or 0,
        ):
            if line.end not in placed:
                self._place(line.end, placed, ends)
                own.append(self.boxes[line.end])
        left = max(ends[: box.layer + 1] if not own else [ends[box.layer]])
        if own:
            middle = (own[0].x + own[-1].x + own[-1].width()) / 2
            left = max(left, middle - box.width() / 2)
        box.x = left
        ends[box.layer] = left + box.width() + GAP

    def _layers(self) -> int:
        return max((box.layer for box in self.boxes.values()), default=0) + 1

    def _top_of(self, layer: int) -> float:
        return self._heading() + sum(
            max(
                [box.height() for box in self.boxes.values() if box.layer == above],
                default=0,
            )
            + LAYER
            - LINE
            - 6
            for above in range(layer)
        )

    def svg(self) -> list[str]:
        """Return the panel's elements."""
        parts = [
            f'<text x="0" y="{LINE * row + 14}" class="h">{escape(text)}</text>'
            for row, text in enumerate(self.heading.split("\n"))
        ]
        tops = {at: self._top_of(box.layer) for at, box in self.boxes.items()}
        for line in self.lines:
            start, end = self.boxes[line.start], self.boxes[line.end]
            x1, y1 = start.exit(line.cell), tops[line.start] + start.height()
            x2, y2 = end.x + end.width() / 2, tops[line.end]
            dash = ' stroke-dasharray="4 4"' if line.dashed else ""
            parts.append(
                f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2 - 2:.1f}" class="l" marker-end="url(#a)"{dash}/>'
            )
            if line.label:
                x, y = (x1 + x2) / 2 + 6, (y1 + y2) / 2 + 4
                parts.append(
                    f'<text x="{x:.1f}" y="{y:.1f}" class="n">{escape(line.label)}</text>'
                )
        for at, box in self.boxes.items():
            parts += _box(box, tops[at])
        return parts


def _box(box: Box, top: float) -> list[str]:
    parts, left = [], box.x
    look = f'height="{box.height():g}" rx="{box.height() / 2 if box.round else 3:g}" fill="{TONES[box.tone]}"'
    for cell, width in zip(box.cells or [""], box.widths(), strict=True):
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" {look}/>')
        for row, text in enumerate(cell.split("\n")):
            y = top + LINE * (row + 1) - 2
            parts.append(
                f'<text x="{left + width / 2:.1f}" y="{y:.1f}" class="t">{escape(text)}</text>'
            )
        left += width
    return parts


STYLE = (
    f"text{{font:{FONT}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}}"
    f".h{{font-weight:bold;font-family:system-ui,'DejaVu Sans',sans-serif;fill:{GREY}}}"
    f".t{{fill:{DARK};text-anchor:middle}}.n{{fill:{GREY}}}"
    f"rect{{stroke:{GREY};stroke-width:1}}.l{{stroke:{GREY};stroke-width:1.4;fill:none}}"
)
ARROW = '<marker id="a" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'


def drawing(title: str, rows: Sequence[Sequence[Panel]]) -> str:
    """Return the SVG of rows of panels."""
    parts: list[str] = []
    width = top = 0.0
    for row in rows:
        left = height = 0.0
        for panel in row:
            panel.place()
            parts += [
                f'<g transform="translate({left:.1f} {top:.1f})">',
                *panel.svg(),
                "</g>",
            ]
            width, height = (
                max(width, left + panel.size()[0]),
                max(height, panel.size()[1]),
            )
            left += panel.size()[0] + MARGIN
        top += height + MARGIN
    right, bottom = width + 4, top - MARGIN + 4
    view = f'viewBox="-2 0 {right:.0f} {bottom:.0f}" width="{right:.0f}" height="{bottom:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<defs>{ARROW}<path d="M0 0L8 4L0 8z" fill="{GREY}"/></marker></defs>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
