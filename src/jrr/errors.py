"""What jrr refuses with.

ValueError
└── JrrError          every refusal: names the argument, its value and what is allowed
"""


class JrrError(ValueError):
    """An argument that jrr refuses; the message names it, its value and what is allowed."""
