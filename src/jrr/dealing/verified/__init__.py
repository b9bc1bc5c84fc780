"""Verified cards: dealers commit to every card, devices prove that an answer is a possible one.

The protocol: docs/protocol.md, section on verified cards. Why so: docs/decisions/0060.
"""
