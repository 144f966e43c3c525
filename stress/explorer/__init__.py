"""The explorer: runs small scenarios under schedules of its own choice, so that nothing is left to chance.

A *scenario* is an object in some state and a few threads with a few calls each. An *execution* of it is fixed by one
choice for every access of a slot: which thread makes it. The explorer makes the choices (`bounded`, `dpor`, `sampling`,
`suspension`), runs the scenario's threads one at a time accordingly, and judges the history of every execution with the
checker that judges recorded ones.

What it runs is interpreted Python, on slots of the explorer's own (`slots`), which are put in the place of the real
ones. It sees what happens between accesses of slots as one step, and memory as if there were no reclaimer.
"""
