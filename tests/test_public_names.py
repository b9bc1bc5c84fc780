"""The names that `import jrr` promises."""

import types

import jrr

PUBLIC = [
    "Bins",
    "Contributor",
    "DRR",
    "Difference",
    "Estimate",
    "HeavyHitters",
    "JRR",
    "JrrError",
    "Laplace",
    "Longitudinal",
    "MRR",
    "MaskedLaplace",
    "MeanEstimate",
    "Mechanism",
    "NumberPlan",
    "Numbers",
    "OLH",
    "OUE",
    "Plan",
    "PrefixSearch",
    "RR",
    "RangeTree",
    "SS",
    "SUE",
    "SecureRandom",
    "SeededRandom",
    "Tally",
    "TwoPhasePlan",
    "Words",
    "algorithm1",
    "amplified_epsilon",
    "difference",
    "from_dict",
    "from_json",
    "plan",
    "plan_number",
    "plan_two_phases",
    "pooled",
    "postprocess",
    "required_epsilon",
    "required_n",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_rr",
    "simulate",
]


def test_public_names() -> None:
    assert sorted(jrr.__all__) == PUBLIC


def test_everything_else_is_private_or_a_submodule() -> None:
    others = {name for name in dir(jrr) if not name.startswith("_")} - set(jrr.__all__)
    others -= {"Any", "TYPE_CHECKING"}
    strangers = [
        name
        for name in others
        if not isinstance(getattr(jrr, name), types.ModuleType)
        or getattr(jrr, name).__name__ != f"jrr.{name}"
    ]
    assert strangers == []


def test_version_is_a_version() -> None:
    assert [part.isdigit() for part in jrr.__version__.split(".")] == [True] * 3
