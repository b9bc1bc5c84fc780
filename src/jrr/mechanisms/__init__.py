"""The mechanisms; each is an immutable value with the verbs of jrr.mechanisms.base."""
