# C types for _pickled.py.
from ctrie._machine cimport check_signals
