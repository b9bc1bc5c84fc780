"""What `make test-fast` leaves out: the marker `heavy`, set from one list.

Folders, files or single tests that start processes and servers, deal by committee, decide on large
samples or enumerate for seconds. `make test` runs them all.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is. `make test` tries the same examples every time;
# `make test-slow` (--hypothesis-profile=explore) draws new ones.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("jrr", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("jrr")

ROOT = Path(__file__).parents[1]
HEAVY = (
    "tests/cli/test_cli.py",
    "tests/cli/test_compare.py",
    "tests/cli/test_files.py::test_a_picture_of_the_shares",
    "tests/cli/test_files.py::test_a_survey_in_processes_of_their_own",
    "tests/cli/test_files.py::test_labels_from_a_file_and_other_mechanisms",
    "tests/cli/test_files.py::test_two_runs_at_once_do_not_meet",
    "tests/cli/test_numbers.py",
    "tests/console",
    "tests/documents/test_errata.py",
    "tests/documents/test_examples.py",
    "tests/documents/test_security_page.py",
    "tests/documents/test_site.py",
    "tests/documents/test_pages_run.py",
    "tests/documents/test_which_mechanism.py",
    "tests/e2e",
    "tests/estimation/test_several_decks.py",
    "tests/estimation/test_weights.py::test_unbiased_and_of_the_stated_variance_for_every_population",
    "tests/faults",
    "tests/mechanisms/test_enumeration.py",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_a_population",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_respondents",
    "tests/mechanisms/test_numbers.py::test_unbiased_and_of_the_stated_variance",
    "tests/mechanisms/test_unary.py::test_bits_may_be_looked_at_one_by_one",
    "tests/mechanisms/test_unary.py::test_loss_of_every_view_is_what_enumeration_finds",
    "tests/mechanisms/test_unary.py::test_no_lean_beats_the_chosen_one",
    "tests/planning/test_alternatives.py",
    "tests/planning/test_large_domains.py",
    "tests/planning/test_plans.py::test_a_looser_cap_never_costs_accuracy",
    "tests/planning/test_plans.py::test_a_plan_in_the_view_everything_keeps_it",
    "tests/planning/test_plans.py::test_auto_keeps_its_promise_and_is_the_best",
    "tests/planning/test_plans.py::test_more_trust_never_costs_accuracy",
    "tests/planning/test_plans.py::test_no_plan_breaks_its_promise_or_is_worse_than_rr",
    "tests/planning/test_plans.py::test_required_epsilon_is_enough_and_a_little_less_is_not",
    "tests/planning/test_plans.py::test_required_n_is_enough_and_two_fewer_are_not",
    "tests/planning/test_plans.py::test_without_a_frequency_it_is_the_mean_over_all_frequencies",
    "tests/privacy/test_informed.py",
    "tests/privacy/test_shuffled.py",
    "tests/reporting/test_explain.py",
    "tests/research/test_attacks.py::test_every_attack_has_a_picture",
    "tests/research/test_audit.py",
    "tests/research/test_interval_coverage.py",
    "tests/research/test_reproduce.py",
    "tests/servers/test_units.py::test_a_job_that_breaks_the_transaction_breaks_only_itself",
    "tests/servers/test_units.py::test_a_server_that_does_not_start_is_an_error_with_its_own_words",
    "tests/dealing/committee",
    "tests/survey/test_survey.py::test_whatever_number_enrols_from_the_fewest_on_can_be_dealt_to",
    "tests/dealing/test_deck.py::TestBijection::test_a_million_positions_of_a_large_one",
    "tests/dealing/test_deck.py::TestGoldenVectors::test_they_are_up_to_date",
    "tests/dealing/test_deck.py::TestUniformity",
    "tests/tables/test_files.py::test_reports_through_files_are_the_reports_in_memory",
    "tests/tables/test_files.py::test_small_batches_keep_every_row_in_its_place",
    "tests/tables/test_files.py::test_small_batches_make_the_same_reports",
    "tests/tables/test_files.py::test_values_of_several_lines_in_a_csv_file_larger_than_a_block",
    "tests/tables/test_refusals.py::test_a_full_disk_fails_and_leaves_nothing",
    "tests/tables/test_refusals.py::test_a_full_disk_for_keys_and_pictures",
    "tests/tables/test_refusals.py::test_a_killed_run_is_in_nobodys_way",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing",
    "tests/tables/test_refusals.py::test_damaged_bytes_end_in_a_refusal_and_never_in_a_crash",
    "tests/tables/test_refusals.py::test_two_runs_at_once_do_not_use_the_same_cards",
    "tests/test_hardening.py",
    "tests/telemetry",
)


def is_slow_variant(item: pytest.Item) -> bool:
    """Whether `slow_variants` names this variant: by its id in brackets, or how that begins."""
    variant = item.nodeid.partition("[")[2]
    named = [begins for mark in item.iter_markers("slow_variants") for begins in mark.args]
    return bool(variant) and any(variant.startswith(begins) for begins in named)


def is_heavy(test: str) -> bool:
    """Whether a test, by its id, is in the list."""
    return any(
        test == name or test.startswith((f"{name}/", f"{name}::", f"{name}[")) for name in HEAVY
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whole files that are left out are not even imported: that alone takes ten seconds."""
    if "not heavy" not in config.getoption("markexpr"):
        return None
    return is_heavy(collection_path.relative_to(ROOT).as_posix()) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks slow and heavy tests, and those that decide on random samples."""
    for item in items:
        if is_slow_variant(item):
            item.add_marker("slow")
        if is_heavy(item.nodeid) or item.get_closest_marker("statistical"):
            item.add_marker("heavy")
