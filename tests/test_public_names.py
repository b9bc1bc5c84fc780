"""The names that `import jrr` promises."""

import jrr

PUBLIC = [
    "Bins",
    "Bits",
    "Block",
    "Choice",
    "Contributor",
    "DRR",
    "Difference",
    "Estimate",
    "HeavyHitters",
    "JRR",
    "JrrError",
    "Longitudinal",
    "MRR",
    "MeanEstimate",
    "Mechanism",
    "NumberPlan",
    "Numbers",
    "OLH",
    "OUE",
    "Piecewise",
    "Plan",
    "PrefixSearch",
    "RR",
    "RangeTree",
    "SS",
    "SUE",
    "SecureRandom",
    "SeededRandom",
    "Subset",
    "Tally",
    "TwoPhasePlan",
    "Window",
    "Words",
    "algorithm1",
    "amplified_epsilon",
    "difference",
    "estimate_frame",
    "from_dict",
    "from_json",
    "load_survey",
    "perturb_frame",
    "plan",
    "plan_number",
    "plan_two_phases",
    "pooled",
    "postprocess",
    "power_of_effect",
    "read_reports",
    "regress_frame",
    "required_epsilon",
    "required_n",
    "required_n_for_effect",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_rr",
    "simulate",
    "write_reports",
]


def test_public_names() -> None:
    assert sorted(jrr.__all__) == PUBLIC


def test_dir_shows_what_is_meant_and_all_of_it_exists() -> None:
    assert dir(jrr) == sorted([*jrr.__all__, "__version__"])
    assert all(hasattr(jrr, name) for name in dir(jrr))


def test_version_is_a_version() -> None:
    assert [part.isdigit() for part in jrr.__version__.split(".")] == [True] * 3
