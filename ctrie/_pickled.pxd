# C types for _pickled.py.
from ctrie._signals cimport EVERY, check_signals
