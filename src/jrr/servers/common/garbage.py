"""The garbage collector of a server's process: it looks at what requests made, and not too often.

Python looks for cycles of objects that nobody refers to after every few hundred new ones, and now
and then at all objects there are. A server loads hundreds of thousands that stay, and in a crowd
thousands of requests are under way: looking at all of them again and again took a quarter to half
of the processor.
"""

import gc

NEW = 100_000  # objects, between two looks at the new ones: those of thousands of requests
YOUNG, OLD = 10, 10  # looks at the new ones before one at the young ones, and those before all


def settle() -> None:
    """What is loaded now stays, and is not looked at again; the rest is, less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW, YOUNG, OLD)
