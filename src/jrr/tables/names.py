"""Names of the columns that jrr itself writes into files of reports, and of groups."""

CARDED = "carded"  # whether the report was made with a card
SEALED = "sealed"  # a report encrypted to the collector, and that flag
RESERVED = ("report", "seed", CARDED, SEALED)  # columns that are not the user's
MISSING = "(missing)"  # the group of empty cells
MOST_GROUPS = 10_000
GROUP, ROWS = "jrr_group", "jrr_rows"  # columns of what an engine counted
