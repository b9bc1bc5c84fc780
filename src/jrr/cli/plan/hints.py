"""What somebody meant who wrote `jrr plan 10000 1` or `jrr plan eps=1`."""

from collections.abc import Sequence

_NAMES = {
    "-n": ("n", "people", "contributors", "respondents"),
    "-e": ("e", "eps", "epsilon", "ε"),
    "-k": ("k", "answers"),
    "-M": ("m", "colluders"),
    "-f": ("f", "frequency"),
}
_FEW_PEOPLE = 20  # a smaller number is an ε rather than people
_OPTIONS = {name: option for option, names in _NAMES.items() for name in names}


def meant(words: Sequence[str]) -> str | None:
    """The same as options, where words are numbers, name=number or a name before a number.

    Args:
        words: what was typed behind `jrr plan`.

    Returns:
        Options and their values; None where nobody can tell.

    Example:
        >>> meant(["10000", "1"]), meant(["eps=1", "-k", "3"]), meant(["survy"])
        ('-n 10000 -e 1', '-e 1 -k 3', None)
    """
    unnamed = [option for option in ("-n", "-e") if option not in words]
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
        elif word.lower() in _OPTIONS and rest and _is_number(rest[0]):
            found += [_OPTIONS[word.lower()], rest.pop(0)]
        elif _is_number(word) and unnamed:
            likely = "-e" if _number(word) < _FEW_PEOPLE else "-n"
            option = unnamed.pop(unnamed.index(likely) if likely in unnamed else 0)
            whole = option == "-n" and "e" in word.lower()  # 1e4, which -n does not take
            found += [option, f"{_number(word):.0f}" if whole else word]
        else:
            return None
    return " ".join(found)


def _is_number(word: str) -> bool:
    try:
        _number(word)
    except ValueError:
        return False
    return True


def _number(word: str) -> float:
    return float(word.replace(",", ""))
