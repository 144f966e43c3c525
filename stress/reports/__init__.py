"""What is said of a history: what is wrong with it (`diagnosis`), as text and as a page."""
