"""What every mechanism can do, one purpose a file; jrr.mechanisms.base puts them together."""
