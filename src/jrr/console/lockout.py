"""Who guesses admin tokens is made to wait, longer and longer, by where they come from.

By address, so that whoever guesses cannot keep the operator out from elsewhere.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FREE = 5  # wrong tokens before the first wait
FIRST = 30.0  # seconds
LONGEST = 15 * 60.0
FORGET = 60 * 60.0  # seconds without a wrong one after which it begins anew
MOST = 10_000  # addresses that are remembered


@dataclass
class _Failures:
    count: int = 0
    until: float = 0.0  # locked
    last: float = 0.0


class Lockout:
    """Counts wrong tokens by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds for which this address may not try; 0: it may."""
        past = self._failures.get(address)
        return 0.0 if past is None else max(0.0, past.until - self._clock())

    def failed(self, address: str) -> float:
        """A wrong token came from there: seconds to wait now."""
        now = self._clock()
        past = self._failures.pop(address, None)
        if past is None or now - past.last > FORGET:
            past = _Failures()
        past.count, past.last = past.count + 1, now
        if past.count >= FREE:
            past.until = now + min(LONGEST, FIRST * 2.0 ** (past.count - FREE))
        self._failures[address] = past
        while len(self._failures) > MOST:
            self._failures.popitem(last=False)
        return self.wait(address)

    def succeeded(self, address: str) -> None:
        """The right one came."""
        self._failures.pop(address, None)
