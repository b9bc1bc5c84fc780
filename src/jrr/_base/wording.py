"""Numbers in words that people read: what is shown of a chance is never more certain than it is."""


def of_hundred(probability: float, start: bool = False) -> str:
    """A probability as cases of 100, to three digits, or as many as it takes not to look certain.

    Example:
        >>> of_hundred(0.25)
        'in 25 of 100 cases'
    """
    for digits in range(3, 18):
        shown = f"{100 * probability:.{digits}g}"
        if 0 < float(shown) < 100 or probability in (0, 1):
            break
    return f"{'In' if start else 'in'} {shown} of 100 cases"
