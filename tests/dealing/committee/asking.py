"""Contributors of a committee's survey."""

import asyncio
from collections.abc import Sequence

from jrr.client.fleet import drive_all
from jrr.survey import contributor
from jrr.survey.contributor import Receipt
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey

QUICK = Limits(700.0, patience=1.0)


def answer_each(
    survey: Survey, secrets: Sequence[bytes], limits: Limits = QUICK, value: int = 1
) -> list[Receipt | Exception]:
    """Everybody contributes; failures are part of the answer."""
    answers = {"answer": f"answer {value}"}
    steps = (contributor.contribute(survey, one, answers, limits) for one in secrets)
    found: list[Receipt | Exception] = asyncio.run(drive_all(steps))
    return found


def answer_all(survey: Survey, secrets: Sequence[bytes], limits: Limits = QUICK) -> list[Receipt]:
    """Everybody contributes; nobody may fail."""
    results = answer_each(survey, secrets, limits)
    receipts = [result for result in results if isinstance(result, Receipt)]
    assert len(receipts) == len(results), results
    return receipts
