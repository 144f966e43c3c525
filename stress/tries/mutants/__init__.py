"""Mutants: faults put into our own source, one at a time, to see which tests would notice.

A suite that notices nothing wrong is worth as much as the faults that it would have noticed. Each mutant is a small
change of the source, in a private copy of the packages; `catalogue` has them all, `layers` what is to catch them.
"""
