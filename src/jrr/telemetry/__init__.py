"""Reports of devices: again and again, of strings that nobody listed, of numbers in detail.

longitudinal   the same people report in every round; what a device remembers
series         the estimates of all rounds, and changes between them
words          strings over a known alphabet, and their prefixes
prefix_search  frequent strings, found level by level, with any mechanism
heavy_hitters  the same from reports that are sent at once, without cards
ranges         a number by a tree of ranges: what devices tell
range_estimates its shares of ranges and quantiles
consistency    least squares on such a tree, and the weights that follow from them
level_noise    how the shares of one level of it vary together
report_lines   files of reports, and what their lines hold
"""
