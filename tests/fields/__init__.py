"""Tests of content-based routing."""
