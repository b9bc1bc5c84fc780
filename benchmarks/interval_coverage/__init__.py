"""How often confidence intervals hold, computed and not simulated: their coverage over a grid.

python -m benchmarks.interval_coverage docs/coverage-of-intervals.png
"""
