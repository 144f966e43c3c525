"""Reports on a history: what is wrong with it (`diagnosis`), as text and as a page."""
