"""Servers whose transactions and processes break on purpose, compared with a model."""
