"""How cards are dealt: who deals them, how a contributor comes by them, and the decks."""
