"""Programs that the Makefile starts; none of them is a part of the package."""
