"""The paper as printed, for checking and reproducing it."""
