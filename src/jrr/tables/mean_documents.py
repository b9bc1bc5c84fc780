"""Means of a number from files of reports, as rows of a table and as a document."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from jrr.estimation.groups import MOST_COMPARED_GROUPS, GroupEstimates
from jrr.estimation.means import MeanDifference, MeanEstimate


def mean_rows(means: Mapping[str, MeanEstimate], level: float) -> list[dict[str, Any]]:
    """One row for everybody, whose group has no name, and one for each group."""
    rows = []
    for name, mean in means.items():
        low, high = mean.interval(level)
        document = mean.to_dict(level)
        rows.append(
            {
                "group": name,
                "mean": mean.mean,
                "stderr": mean.stderr,
                "low": low,
                "high": high,
                "level": level,
                "sum": document["sum"],
                "sum_stderr": document["sum_stderr"],
                "reports": mean.n,
            }
        )
    return rows


def mean_differences(
    means: Mapping[str, MeanEstimate], groups: GroupEstimates
) -> list[tuple[str, str, MeanDifference]]:
    """Every pair of groups, the first minus the second; none where there are too many."""
    if len(groups) > MOST_COMPARED_GROUPS:
        return []
    return [
        (a.name, b.name, means[a.name].minus(means[b.name], same_deck=groups.same_deck))
        for a, b in combinations(groups, 2)
    ]


def mean_document(
    means: Mapping[str, MeanEstimate], level: float, groups: GroupEstimates | None
) -> dict[str, Any]:
    """What a result document says of means: of everybody and, where asked for, of groups."""
    everybody = means[""]
    document: dict[str, Any] = {
        "number": [everybody.low, everybody.high],
        "estimate": everybody.to_dict(level),
    }
    if groups is None:
        return document
    return document | {
        "groups": [{"name": group.name} | means[group.name].to_dict(level) for group in groups],
        "groups_too_small": groups.hidden,
        "differences": [
            {"first": first, "second": second} | gap.to_dict(level)
            for first, second, gap in mean_differences(means, groups)
        ],
    }
