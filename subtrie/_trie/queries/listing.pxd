# C types for listing.py.
from ctrie._nodes cimport Root
