"""Dealer and collector as HTTP services, and the clients that talk to them.

Servers need the extra [serve]; a contributor's client needs only the core.
"""
