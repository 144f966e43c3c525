"""Interest: the cost of learning whether any subscriber wants a topic, but not which (S5 of the founding papers)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.matchers import FILTERING, INVERTED, LOCKED, NAIVE, OPTIMISED, TRIE, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.suite.throughput import call_each
from benchmarks.workloads import throughput_filters, throughput_topics


def _groups(quick: bool) -> Iterator[Group]:
    # No last word is a wildcard, so no filter matches a topic that ends with a word that no filter has.
    filters = [filter for filter in throughput_filters(count=100 if quick else 1_000) if not filter.endswith("*")]
    wanted = throughput_topics(filters, 200 if quick else 2_000)
    unwanted = [f"{topic}x" for topic in wanted]
    group: Group = []
    for entrant in present([TRIE, FILTERING, INVERTED, OPTIMISED, LOCKED, NAIVE]):
        matcher = filled(entrant, filters)
        for what, topics in (("somebody does", wanted), ("nobody does", unwanted)):
            check({matcher.has_match(topic) for topic in topics} == {topics is wanted}, f"{entrant.name}: {what}")
            work = partial(call_each, matcher.has_match, topics)
            group.append(Contender(f"{entrant.name}: {what}", partial(timed, work), len(topics)))
    yield group


BENCHMARKS = [
    Benchmark(
        name="interest",
        title="Does anyone want this? has_match among 1,000 filters",
        operation="has_match",
        groups=_groups,
        baseline=f"{TRIE.name}: somebody does",
        repeats=5,
        note="The filters of the throughput workload, without those whose last word is a wildcard.",
    )
]
