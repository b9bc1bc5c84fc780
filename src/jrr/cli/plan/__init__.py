"""`jrr plan`: what to decide before a survey."""
