"""The manual's pictures (docs/pictures) show what tries do today, and are readable on light and dark pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.once  # drawn in the interpreted twin, whichever runs the tests

ROOT = Path(__file__).parents[2]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def test_are_what_is_drawn_of_tries_today(tmp_path: Path) -> None:
    environment = os.environ | {"CTRIE_TWIN": "interpreted", "PYTHONHASHSEED": "0"}
    subprocess.run([sys.executable, "-m", "docs.pictures", tmp_path], cwd=ROOT, env=environment, check=True)
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text() for path in PICTURES}
    assert drawn == kept, "a change of the tries has changed the pictures: look at what `make pictures` draws"
    assert len(kept) == 3


def test_are_not_drawn_with_hashes_that_differ_every_time() -> None:
    environment = os.environ | {"CTRIE_TWIN": "interpreted", "PYTHONHASHSEED": "random"}
    done = subprocess.run(
        [sys.executable, "-m", "docs.pictures"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "PYTHONHASHSEED=0" in done.stderr) == (1, True)


def brightness(colour: str) -> float:
    """The relative luminance, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted([brightness(one), brightness(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_can_be_read_on_light_and_on_dark_ground(path: Path) -> None:
    picture = ElementTree.parse(path).getroot()
    style = picture.findtext(f"{SVG}style") or ""
    fills = dict(re.findall(r"\.(\w)\{[^}]*fill:(#\w{6})", style))
    boxes = {rect.attrib["fill"] for rect in picture.iter(f"{SVG}rect")}
    assert min(contrast(fills["t"], box) for box in boxes) > 7
    for ground in ("#ffffff", "#131416"):
        assert min(contrast(fills["h"], ground), contrast(fills["n"], ground)) > 4
    assert picture.findtext(f"{SVG}title")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_have_no_box_over_another_and_none_cut_off(path: Path) -> None:
    picture = ElementTree.parse(path).getroot()
    left, top, width, height = map(float, picture.attrib["viewBox"].split())
    areas = []
    for panel in picture.iter(f"{SVG}g"):
        x, y = map(float, re.findall(r"[\d.]+", panel.attrib["transform"]))
        for rect in panel.iter(f"{SVG}rect"):
            at = {name: float(rect.attrib[name]) for name in ("x", "y", "width", "height")}
            areas.append((x + at["x"], y + at["y"], x + at["x"] + at["width"], y + at["y"] + at["height"]))
    for number, (x1, y1, x2, y2) in enumerate(areas):
        assert left <= x1
        assert x2 <= left + width
        assert top <= y1
        assert y2 <= top + height
        for u1, v1, u2, v2 in areas[:number]:
            apart = u2 <= x1 + 0.2 or x2 <= u1 + 0.2 or v2 <= y1 or y2 <= v1
            assert apart, f"{path.name}: {(x1, y1)} and {(u1, v1)}"
