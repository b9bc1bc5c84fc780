"""Coins: what a device does on its own, before a mask is added (docs/theory.md, section on MRR)."""
