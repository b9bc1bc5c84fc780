# Reads {file} and estimates shares and means with standard errors.
# Written by jrr {version} for the survey {survey}
# (wave {wave}); {file}.codebook.csv says what the columns are.
#
# How: a report supports an answer with probability p if the person holds it, else q, so that
#     count = (support - n q) / (p - q)
# is right on average. Of a number in steps support is the sum of the reports, base what each adds
# whatever the number is, and gain what the upper end adds to that. People with and without a card
# are estimated apart and added. Reports with a card hide a secret number (a mask); mask_sum is what
# dealers told of these, and comes off.
# Standard errors are of the people who answered, of whom some were asked where asked is below 1;
# sampled = TRUE adds those of drawing them at
# random from a large population. jrr's intervals are not value +- 1.96 stderr: they test every
# value under its own noise (jrr survey report).
#
# Masks come off all reports together, or off those of the groups that the survey was closed with:
# the functions refuse any other part of the rows.
#
#     source("{file}.R")     # makes data, questions and results; then, for each of questions:
#     estimate_groups(data, questions[[1]], by = c("column", "another"))
#     estimate_differences(data, questions[[1]], by = "column")
#     estimate_means(data, questions[[1]], by = "column")     # of a scale or a number
#     estimate_parts(data, questions[[1]])                    # of two that were asked as one
#     plot_estimates(results)
#
# Of two waves, also of those only who answered both (with masks after their second sums):
#     before <- new.env(); sys.source("wave1.csv.R", before, chdir = TRUE)
#     estimate_change(data, questions[[1]], before$data, before$questions[[1]], paired = TRUE)

file <- {quoted}
