"""What else a trie is asked: listings, overlaps, literal filters first, one entry for each subscriber."""
