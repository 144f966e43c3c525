"""Tests of the Ctrie, its slots and its nodes."""
