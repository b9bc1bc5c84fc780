"""What jrr refuses with.

ValueError
└── JrrError          every refusal: names the argument, its value and what is allowed
    └── MissingExtraError    a part of jrr that was not installed is needed
"""


class JrrError(ValueError):
    """An argument that jrr refuses; the message names it, its value and what is allowed."""


class MissingExtraError(JrrError):
    """An optional part of jrr is needed and not installed; the message names the extra."""
