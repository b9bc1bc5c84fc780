"""From counts of reports to estimates: moments, tallies, weights, intervals, later steps."""
