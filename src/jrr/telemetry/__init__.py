"""Reports of devices: again and again, of strings that nobody listed, of numbers in detail.

longitudinal  the same people report in every round; what a device remembers
series        the estimates of all rounds, and changes between them
"""
