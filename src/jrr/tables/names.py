"""Names of what jrr itself writes into files of reports: columns, groups, metadata."""

CARDED = "carded"  # whether the report was made with a card
SEALED = "sealed"  # a report encrypted to the collector, and that flag
RESERVED = ("report", "seed", CARDED, SEALED)  # columns that are not the user's
MISSING = "(missing)"  # the group of empty cells
MOST_GROUPS = 10_000
GROUP, ROWS = "jrr_group", "jrr_rows"  # columns of what an engine counted
# Keys of the metadata of a survey's exported answers: the survey, and question -> the header that a
# file of its reports alone would have.
SURVEY, HEADERS = b"jrr_survey", b"jrr_headers"
