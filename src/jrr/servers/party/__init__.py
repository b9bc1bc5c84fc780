"""One party of a committee that deals cards together."""
