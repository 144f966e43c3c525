"""What else a trie is asked: listings, overlaps, literal filters first."""
