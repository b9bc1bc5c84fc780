"""The dealer's server: it gives out cards and never sees an answer."""
