"""States of a campaign at a server, as they are stored and told."""

NEW, ENROLLING, OPEN, CLOSED = "new", "enrolling", "open", "closed"
ABORTED = "aborted"  # somebody complained of a card that parties had dealt
