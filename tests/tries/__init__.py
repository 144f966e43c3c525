"""Everything about this distribution's own tries: their targets, copies to explore, scenarios, states and mutants.

No general module of `stress` imports this package; the command line combines the two.
"""
