"""Views of one instant of a subscription trie: Arrow, pandas, Parquet and Spark.

Every function takes a `SubscriptionTrie` or a snapshot of one; a live trie is snapshotted first, in constant
time, and goes on being written to while the view is made. Importing this package is cheap: Arrow, pandas and
Spark are imported by the functions that need them (``pip install subtrie[spark]``).

=================== ================================================================================
`to_arrow`          the subscription set as a ``pyarrow.Table``
`to_pandas`         the same as a ``pandas.DataFrame``
`to_spark`          the same as a Spark ``DataFrame``
`diff_to_spark`     what changed between two snapshots
`match_spark`       a ``DataFrame`` of messages joined with the subscriptions that match each one
`write`, `load`     the set as a Parquet file, and a trie rebuilt from one
=================== ================================================================================

The columns are described in `snapshot.columns`.
"""

from __future__ import annotations

from snapshot.arrow import to_arrow, to_pandas
from snapshot.matching import match_spark
from snapshot.parquet import load, write
from snapshot.spark import diff_to_spark, to_spark

__all__ = ["diff_to_spark", "load", "match_spark", "to_arrow", "to_pandas", "to_spark", "write"]
