"""What somebody meant who wrote `jrr plan 10000 1` or `jrr plan eps=1`."""

from collections.abc import Sequence

_NAMES = {
    "-n": ("n", "people", "contributors", "respondents"),
    "-e": ("e", "eps", "epsilon", "ε"),
    "-k": ("k", "answers"),
    "-M": ("m", "colluders"),
    "-f": ("f", "frequency"),
}
_OPTIONS = {name: option for option, names in _NAMES.items() for name in names}


def meant(words: Sequence[str]) -> str | None:
    """The same as options, where words are numbers or name=number.

    Args:
        words: what was typed behind `jrr plan`.

    Returns:
        Options and their values; None where nobody can tell.

    Example:
        >>> meant(["10000", "1"]), meant(["eps=1", "-k", "3"]), meant(["survy"])
        ('-n 10000 -e 1', '-e 1 -k 3', None)
    """
    unnamed = (option for option in ("-n", "-e") if option not in words)
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, sign, value = word.partition("=")
        if word.startswith("-"):
            found.append(word)
            if rest and not sign and _is_number(rest[0]):
                found.append(rest.pop(0))
        elif sign and name.lower() in _OPTIONS and value:
            found += [_OPTIONS[name.lower()], value]
        elif _is_number(word) and (option := next(unnamed, None)) is not None:
            found += [option, word]
        else:
            return None
    return " ".join(found)


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", ""))
    except ValueError:
        return False
    return True
