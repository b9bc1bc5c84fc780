"""Cards dealt by several parties of whom no few together know them: no dealer at all.

- field: a prime field, additive shares of vectors, seeds that stand for vectors
- schedule: which parties know which permutation
- dealing: the protocol itself, over any channel
- merkle: commitments to what was sealed
- cards: cards as field elements, sealed to their holders
- link: messages between parties over mutual TLS
- group: contributors who deal among themselves, as in the paper
"""
