"""Reports of devices: again and again, of strings that nobody listed, of numbers in detail.

longitudinal   the same people report in every round; what a device remembers
series         the estimates of all rounds, and changes between them
words          strings over a known alphabet, and their prefixes
prefix_search  frequent strings, found level by level, with any mechanism
heavy_hitters  the same from reports that are sent at once, without cards
ranges         shares of ranges and quantiles of a number, by a tree of ranges
consistency    least squares on such a tree, and the weights that follow from them
report_lines   files of reports
"""
