"""The explorer: runs small scenarios under schedules of its own choice, so that nothing is left to chance.

A *scenario* is an object in some state and a few threads with a few calls each. An *execution* of it is fixed by one
choice for every access of a slot: which thread makes it. The explorer makes the choices (`strategies`), runs the
scenario's threads one at a time accordingly, and judges the history of every execution with the checker that judges
recorded ones.

It runs interpreted Python. The real slots are replaced by the explorer's own (`slots`). Everything between two accesses
of slots is one step to it, and it does not see the reclaimer's effect on memory.
"""
