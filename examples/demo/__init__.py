"""A trie at work, and one instant of it in Spark: ``python -m examples.demo``, or ``make demo``."""
