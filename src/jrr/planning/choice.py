"""Which mechanism: the most accurate of one family, or of all of them, that keeps a request."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from jrr._base import checks
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.families import Family
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import Request, least

AUTO = "auto"
BASELINE = "rr"  # exists for every request; no automatic choice is worse


def mechanism_words() -> tuple[str, ...]:
    """What `plan(mechanism=...)` takes."""
    return (AUTO, *(key for key, family in families().items() if family.chosen))


def check_word(mechanism: object) -> str:
    """A word of `mechanism_words`, in any case."""
    word = mechanism.lower() if isinstance(mechanism, str) else mechanism
    return checks.one_of("mechanism", word, mechanism_words())


def choose(request: Request, word: str = AUTO) -> Mechanism:
    """The most accurate mechanism that keeps ε in the view "cards" and the cap on the dealer."""
    if word != AUTO:
        return families()[word].best(request)
    candidates = [
        family
        for family in families().values()
        if family.chosen and (request.k > 2 or not family.encodes)
    ]
    return least(list(_best_of_each(candidates, request)), request)


@lru_cache(maxsize=64)  # it takes seconds
def choose_informed(request: Request, delta: float, word: str = AUTO) -> Mechanism:
    """The same in the view "everything" at δ."""
    delta = checks.real("delta", delta, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    known = {key: family.best_informed for key, family in families().items()}
    informed = {key: best for key, best in known.items() if best is not None}
    checks.one_of("mechanism", word, (AUTO, *informed))
    words = {*informed} if word == AUTO else {BASELINE, word}
    return least([best(request, delta) for key, best in informed.items() if key in words], request)


def _best_of_each(candidates: Iterable[Family], request: Request) -> Iterator[Mechanism]:
    """The best of each family; the baseline always exists, others may be refused."""
    for family in candidates:
        try:
            yield family.best(request)
        except JrrError:
            if family.key == BASELINE:
                raise
