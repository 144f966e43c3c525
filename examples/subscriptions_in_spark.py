"""A day of a broker in Spark: how the set grew, which filters are busy or dead, and who
gets what; with six plots.

Cells are marked by ``# %%``, so editors can run them one by one. As a script it writes
``subscriptions_in_spark.png``:

    python examples/subscriptions_in_spark.py [FILE]
"""

# %% A small broker: sensors in buildings, and subscribers that come and go.
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from subtrie import MQTT, SubscriptionTrie, snapshot

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
chance = random.Random(1)
where = Path(tempfile.mkdtemp()) / "published"
trie: SubscriptionTrie = SubscriptionTrie(MQTT)


def a_filter() -> str:
    words = [
        f"building{chance.randrange(5)}",
        f"floor{chance.randrange(8)}",
        chance.choice(["heat", "light", "door"]),
    ]
    if chance.random() < 0.4:
        words[chance.randrange(3)] = "+"
    return (
        "/".join([*words[: chance.randrange(1, 3)], "#"])
        if chance.random() < 0.2
        else "/".join(words)
    )


with snapshot.Publisher(trie, where) as publisher:
    for _ in range(12):
        for _ in range(chance.randrange(10, 60)):
            trie.subscribe(a_filter(), f"subscriber{chance.randrange(40)}")
        for held in list(trie.subscriptions())[: chance.randrange(20)]:
            trie.unsubscribe(held.filter, held.subscriber)
        publisher.publish()

# %% Messages: some rooms send more than others.
messages = spark.range(20_000).select(
    F.concat_ws(
        "/",
        F.concat(F.lit("building"), F.floor(F.pow(F.rand(1), 2) * 4).cast("string")),
        F.concat(F.lit("floor"), F.floor(F.rand(2) * 8).cast("string")),
        F.element_at(
            F.lit(["heat", "light", "smoke"]), (F.floor(F.rand(3) * 3) + 1).cast("int")
        ),
    ).alias("topic")
)

# %% Questions.
growth: Any = snapshot.growth(where, spark).toPandas()
busiest: Any = snapshot.busiest_filters(messages, where).limit(10).toPandas()
dead: Any = snapshot.dead_filters(messages, where).toPandas()
subscribers: Any = snapshot.topics_per_subscriber(messages, where).toPandas()
overlaps: Any = (
    snapshot.overlaps(where, spark)
    .groupBy("relation")
    .count()
    .orderBy("relation")
    .toPandas()
)
print(
    f"{len(dead)} filters match none of the messages, "
    f"for instance {', '.join(dead['filter'][:3])}"
)

# %% Plots.
figure, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
axes[0, 0].plot(growth["version"], growth["subscriptions"], marker="o")
axes[0, 0].set(title="Subscriptions", xlabel="version")
axes[0, 1].bar(growth["version"], growth["added"], label="added")
axes[0, 1].bar(growth["version"], -growth["removed"], label="removed")
axes[0, 1].set(title="Changes", xlabel="version")
axes[0, 1].legend()
axes[0, 2].barh(busiest["filter"][::-1], busiest["deliveries"][::-1])
axes[0, 2].set(title="Busiest filters", xlabel="deliveries")
axes[1, 0].hist(subscribers["messages"], bins=15)
axes[1, 0].set(
    title="Messages of a subscriber", xlabel="messages", ylabel="subscribers"
)
axes[1, 1].bar(overlaps["relation"], overlaps["count"])
axes[1, 1].set(title="Pairs of filters that share topics")
axes[1, 2].pie(
    [len(dead), trie.stats()["filters"] - len(dead)],
    labels=["dead", "alive"],
    autopct="%1.0f%%",
)
axes[1, 2].set(title="Filters")
target = sys.argv[1] if len(sys.argv) > 1 else "subscriptions_in_spark.png"
figure.savefig(target)
print(f"plots: {target}")
spark.stop()
