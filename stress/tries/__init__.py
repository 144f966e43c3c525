"""What is about this distribution's own tries: their targets, copies to explore, scenarios, states and mutants.

No general room imports this one; the command line puts both together.
"""
