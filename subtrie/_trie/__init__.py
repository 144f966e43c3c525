"""The subscription trie: `trie` is its interface, and the other modules are its parts."""
