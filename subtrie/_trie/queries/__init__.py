"""The other queries of a trie: listings, overlaps, literal filters first, the topics that a filter matches."""
