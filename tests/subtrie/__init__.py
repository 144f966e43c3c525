"""Tests of the subscription trie, the topic store and the other matchers."""
