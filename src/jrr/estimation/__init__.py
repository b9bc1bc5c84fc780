"""From counts of reports to estimates with error bars.

moments       mean and variance of every mechanism's counts, in one formula
tally         counts of reports, plain and weighted
estimates     shares with standard errors and intervals
differences   one estimate minus another
groups        estimates by group, and the rule for small groups
answered      shares among those who did not decline
postprocess   steps that bring shares into 0..1, each with a name
"""
