"""Tests of the stress tool."""
