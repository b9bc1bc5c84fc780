"""What every other room stands on: checked arguments, exact numbers, random words, whole files."""
