"""Groups that are too small for a sum, and the rule by which they are merged."""

from itertools import product
from typing import Any

import pytest

from jrr import MRR
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.survey.closing import ClosingRequest
from jrr.survey.grouping import CardGrouping, merge_small, small_words, summed, too_small
from jrr.survey.survey import Survey
from tests.survey import survey_by

FEWEST = 3
VALUES = ("a", "b", "c", "d")


def grouped_survey(values: tuple[str, ...] = VALUES) -> Survey:
    mechanism = MRR.for_epsilon(1.0, n=50, announced=True)
    return survey_by(mechanism, capacity=50, min_cell=FEWEST, groups={"place": values})


SURVEY = grouped_survey()


def test_the_rule_leaves_no_small_group_and_merges_nothing_needlessly() -> None:
    for sizes in product(range(5), repeat=4):
        check_rule(sizes)


def check_rule(sizes: tuple[int, ...]) -> None:
    counts = dict(zip(VALUES, sizes, strict=True))
    small = {value for value, size in counts.items() if 0 < size < FEWEST}
    grouping = merge_small(SURVEY, ("place",), [counts])
    after = summed(grouping, [counts])
    assert sum(after[0].values()) == sum(sizes)
    if 0 < sum(sizes) < FEWEST:
        assert too_small(after, FEWEST)  # all together are too few: nothing helps
        return
    assert not too_small(after, FEWEST)
    together = {value for values in grouping.merged.values() for value in values}
    assert small <= together if small else not together
    # At most one group joined that was large enough, and none smaller was passed over.
    joined = together - small
    enough = sum(counts[value] for value in small) >= FEWEST
    assert len(joined) == (0 if enough or not small else 1)
    for value in joined:
        left = [counts[v] for v in VALUES if v not in together and counts[v]]
        assert counts[value] <= min(left, default=counts[value])


def test_every_question_and_dealer_must_have_enough() -> None:
    sizes = [{"a": 9, "b": 4, "c": 5}, {"a": 9, "b": 2, "c": 1}]
    grouping = merge_small(SURVEY, ("place",), sizes)
    assert grouping.merged == {"b + c": ("b", "c")}
    assert too_small(sizes, FEWEST) == {"b", "c"}
    assert "got 2 in the group 'b', 1 in the group 'c'" in small_words(SURVEY, sizes)
    assert grouping.names(SURVEY) == ["a", "b + c", "d"]


def test_a_merged_group_is_never_called_as_a_value_is() -> None:
    values = ("a", "b", "a + b")
    grouping = merge_small(grouped_survey(values), ("place",), [{"a": 1, "b": 2, "a + b": 5}])
    assert grouping.merged == {"(a + b)": ("a", "b")}


def test_groupings_are_read_back_and_others_refused() -> None:
    grouping = CardGrouping(by=("place",), merged={"b + c": ("b", "c")})
    assert CardGrouping.from_document(SURVEY, grouping.to_document()) == grouping
    lists = (["b"], ["b", "z"], ["b", "b"])
    wrong: list[Any] = [[], *({"x": one} for one in lists), {"a": ["b", "c"]}]
    for merged in wrong:
        with pytest.raises(DamagedError, match="merged must"):
            CardGrouping.from_document(SURVEY, {"by": ["place"], "merged": merged})
    with pytest.raises(DamagedError, match="merged must"):
        CardGrouping.from_document(SURVEY, {"by": [], "merged": {"x": ["b", "c"]}})
    with pytest.raises(ArgumentError, match="by must be"):
        CardGrouping.from_document(SURVEY, {"by": ["age"]})
    questions: dict[str, Any] = {"answer": {"b": []}}
    document = {
        "survey": SURVEY.hash,
        "announcement": 1,
        **grouping.to_document(),
        "questions": questions,
    }
    with pytest.raises(DamagedError, match="the groups of the grouping and no others"):
        ClosingRequest.from_document(SURVEY, document)
    told = CardSums(by=("place",), merged=grouping.merged, announced={"b + c": (CardSum(5, 2),)})
    assert CardSums.from_document(told.to_document(), 1) == told
