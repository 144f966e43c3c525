"""Whether draws by lot are fair: Pearson's chi-square test, with so high a bar that fair draws fail once in a million."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import sqrt
from typing import Any

BAR = 4.75  # standard deviations


def unfairness(got: Mapping[Any, int], weights: Mapping[Any, float]) -> float:
    """Return how many standard deviations the shares are from those by weight: more than BAR shows that draws are not
    fair. Wilson and Hilferty's approximation to the distribution of chi-square."""
    assert got.keys() <= weights.keys(), f"{got} among {weights}"
    drawn, freedom = sum(got.values()), len(weights) - 1
    due = {who: drawn * weight / sum(weights.values()) for who, weight in weights.items()}
    if freedom == 0:
        return 0
    square = sum((got.get(who, 0) - due[who]) ** 2 / due[who] for who in weights)
    part = 2 / (9 * freedom)
    return float(((square / freedom) ** (1 / 3) - (1 - part)) / sqrt(part))


def check_fair(drawn: Counter[Any], weights: Mapping[Any, float], seed: int) -> None:
    """Raise AssertionError if the shares are not as the weights."""
    assert unfairness(drawn, weights) < BAR, f"{drawn} where the weights are {weights}; seed {seed}"
