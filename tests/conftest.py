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
# What is in `make test-slow` only: variants of which another one stays in `make test`, and what
# takes long alone. A name without brackets stands for all its variants, "FILE::.*[KIND" for all
# variants of a kind in a file: there SQLite stays.
SLOW = (
    "tests/clients/test_many_reports.py::test_encodings_are_pythons_and_have_its_law[OUE",
    "tests/documents/test_examples.py::test_telemetry_tallies_are_all_that_the_estimate_needs",
    "tests/documents/test_site.py",
    "tests/documents/test_which_mechanism.py::test_the_table_of_alternatives",
    "tests/e2e/test_committed_decks.py::.*[postgresql",
    "tests/e2e/test_committed_surveys.py::.*[postgresql",
    "tests/e2e/test_page_screens.py::test_the_main_screens_in_every_look[de-dark]",
    "tests/mechanisms/test_numbers.py::test_intervals_in_steps_have_the_stated_coverage[alone",
    "tests/planning/test_alternatives.py::test_variances_are_those_of_the_reference[0.1]",
    "tests/planning/test_large_domains.py::"
    "test_every_compared_mechanism_keeps_the_guarantee_and_auto_is_the_least[1001-5",
    "tests/privacy/test_informed.py::test_what_is_planned_keeps_its_promise[301-0.1-0-drr]",
    "tests/research/test_audit_masked.py::test_planted_bugs_of_masks_are_found[noise without",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure1]",
    "tests/tables/test_engines.py::test_every_format_and_group[.csv-MRR closed]",
    "tests/cli/test_cli.py::test_demo_of_one_mechanism_with_odd_n[drr]",
    "tests/cli/test_cli.py::test_demo_of_one_mechanism_with_odd_n[jrr]",
    "tests/cli/test_cli.py::test_demo_of_one_mechanism_with_odd_n[rr]",
    "tests/cli/test_cli.py::test_demo_table_is_reproducible_with_a_seed",
    "tests/cli/test_cli.py::test_plan_shows_the_fully_informed_collector_by_default",
    "tests/cli/test_real_columns.py::test_all_columns_together",
    "tests/e2e/test_client.py::.*[postgresql",
    "tests/e2e/test_commands.py::test_a_survey_from_the_command_line",
    "tests/e2e/test_forgetting.py::test_an_idle_dealer_has_no_key_in_memory_after_the_end[drr]",
    "tests/e2e/test_groups.py::test_a_campaign_whose_contributors_deal_among_themselves",
    "tests/e2e/test_links_for_people.py::test_a_sample_survey_to_try_things_out",
    "tests/e2e/test_overload.py::test_two_collectors_on_one_database_take_every_report_once",
    "tests/e2e/test_processes.py::test_a_dealer_that_comes_back_deals_on_where_it_was[sqlite-killed]",
    "tests/e2e/test_refusals.py::.*[postgresql",
    "tests/e2e/test_surveys.py::.*[postgresql",
    "tests/e2e/test_traces.py::.*[postgresql",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_a_population[Laplace]",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_respondents[Laplace]",
    "tests/research/test_audit.py::test_views_with_cards_keep_their_word",
    "tests/research/test_reproduce.py::test_an_interrupted_run_leaves_finished_figures_and_goes_on",
    "tests/survey/committee/test_uniform.py::test_reports_follow_the_law_of_a_dealer_s_deck",
    "tests/tables/test_refusals.py::test_a_full_disk_fails_and_leaves_nothing",
    "tests/tables/test_refusals.py::test_two_runs_at_once_do_not_use_the_same_cards[True]",
    "tests/cli/test_cli.py::test_no_cap_must_be_asked_for_and_is_marked",
    "tests/cli/test_cli.py::test_plan_answers_how_many_people_and_which_epsilon",
    "tests/cli/test_cli.py::test_what_was_planned_against_everything_can_be_used",
    "tests/cli/test_files.py::test_a_survey_in_processes_of_their_own",
    "tests/cli/test_real_columns.py::test_a_real_column[department]",
    "tests/e2e/test_commands.py::test_an_interrupted_demonstration_leaves_nothing",
    "tests/e2e/test_commands.py::test_what_both_servers_print_makes_a_survey",
    "tests/e2e/test_processes.py::test_after_kill_every_acknowledged_report_is_there[postgresql]",
    "tests/e2e/test_processes.py::test_asked_to_stop_a_server_finishes_what_it_has_and_exits_0[postgresql-SIGTERM]",
    "tests/e2e/test_processes.py::test_asked_to_stop_a_server_finishes_what_it_has_and_exits_0[sqlite-SIGINT]",
    "tests/planning/test_plans.py::test_no_plan_breaks_its_promise_or_is_worse_than_rr[jrr]",
    "tests/survey/committee/test_command_line.py::test_three_operators_deal_from_their_command_lines",
    "tests/e2e/test_commands.py::test_the_demonstration_over_http[postgres]",
    "tests/e2e/test_processes.py::test_a_dealer_that_comes_back_deals_on_where_it_was[postgresql-killed]",
    "tests/e2e/test_questionnaires.py::test_a_questionnaire_from_the_invitation_to_the_results[postgresql]",
    "tests/e2e/test_questionnaires.py::test_change_between_waves_paired_and_unpaired[postgresql]",
    "tests/estimation/test_masks.py::test_mixtures_hold_their_level",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_a_population[MaskedLaplace]",
    "tests/mechanisms/test_numbers.py::test_intervals_hold_the_mean_of_respondents[MaskedLaplace",
    "tests/planning/test_plans.py::test_required_n_and_epsilon_in_the_view_everything",
    "tests/planning/test_plans.py::test_required_n_and_required_epsilon_are_inverse[1.0-auto]",
    "tests/research/test_audit.py::test_planted_bugs_are_found[OUE",
    "tests/research/test_audit.py::test_the_same_seed_gives_the_same_audit_with_any_number_of_processes",
    "tests/research/test_audit_choice.py::test_the_claim_in_the_view_everything_stands_and_less_does_not[OUE",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure2]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure3]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure4]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[frequency]",
    "tests/survey/committee/test_command_line.py::test_a_group_deals_among_itself[7]",
    "tests/survey/test_campaign.py::test_whatever_number_enrols_from_the_fewest_on_can_be_dealt_to",
    "tests/tables/test_files.py::test_differences_of_groups_hold_their_level[<lambda>1]",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing[cards-SIGINT]",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing[estimate-SIGINT]",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing[perturb",
    "tests/tables/test_refusals.py::test_damaged_bytes_end_in_a_refusal_and_never_in_a_crash[estimate-arrow]",
    "tests/tables/test_refusals.py::test_damaged_bytes_end_in_a_refusal_and_never_in_a_crash[perturb",
    "tests/test_hardening.py::test_damaged_figures_are_made_again",
    "tests/documents/test_errata.py::test_script[E14]",
    "tests/documents/test_errata.py::test_script[E16]",
    "tests/documents/test_errata.py::test_script[E8]",
    "tests/documents/test_errata.py::test_script[E9]",
    "tests/e2e/test_announced_sums.py::.*[postgresql",
    "tests/e2e/test_announced_sums.py::test_after_a_restart_and_from_a_backup_there_is_one_announcement",
    "tests/e2e/test_commands.py::test_both_servers_to_try_things_out",
    "tests/e2e/test_commands.py::test_the_demonstration_over_http",
    "tests/e2e/test_error.py::test_the_error_is_as_predicted",
    "tests/e2e/test_refusals.py::test_a_database_user_without_special_rights_can_close",
    "tests/e2e/test_surveys.py::test_a_survey_dealt_on_arrival_is_balanced_and_counted_exactly[sqlite-jrr",
    "tests/planning/test_plans.py::test_no_search_that_is_skipped_would_have_won[1000-0.1",
    "tests/planning/test_plans.py::test_no_search_that_is_skipped_would_have_won[300-1.0",
    "tests/planning/test_plans.py::test_required_n_and_required_epsilon_are_inverse[0.1-auto]",
    "tests/planning/test_plans.py::test_required_epsilon_is_enough_and_a_little_less_is_not[auto-2-frequency3]",
    "tests/planning/test_plans.py::test_required_n_is_enough_and_two_fewer_are_not[0.95-auto-2-frequency3]",
    "tests/research/test_audit_masked.py::test_planted_bugs_of_masks_are_found[clamped",
    "tests/research/test_audit_masked.py::test_planted_bugs_of_masks_are_found[totals",
    "tests/research/test_audit_masked.py::test_planted_bugs_of_masks_are_found[two announcements]",
    "tests/research/test_interval_coverage.py::test_groups[0.02",
    "tests/research/test_interval_coverage.py::test_groups[4.0",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[domain]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure6]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[figure7]",
    "tests/research/test_reproduce.py::test_every_figure_makes_whole_files_and_tells_its_progress[trust]",
    "tests/survey/committee/test_command_line.py::test_a_group_in_which_one_is_missing_says_who",
    "tests/survey/test_deck.py::TestBijection::test_a_million_positions_of_a_large_one[1000000000",
    "tests/survey/test_deck.py::TestUniformity::test_pairs_of_a_somewhat_larger_grid",
    "tests/tables/test_refusals.py::test_a_full_disk_for_keys_and_pictures",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing[estimate-SIGTERM]",
    "tests/tables/test_refusals.py::test_a_signal_in_the_middle_leaves_nothing[shuffle",
    "tests/tables/test_refusals.py::test_damaged_bytes_end_in_a_refusal_and_never_in_a_crash[estimate-csv]",
    "tests/tables/test_refusals.py::test_two_runs_at_once_do_not_use_the_same_cards",
    "tests/test_hardening.py::test_a_report_keeps_the_figures_of_earlier_runs",
    "tests/cli/test_cli.py::test_demo_of_one_mechanism_with_odd_n[mrr]",
    "tests/cli/test_cli.py::test_plan_draws",
    "tests/cli/test_files.py::test_two_runs_at_once_do_not_meet",
    "tests/cli/test_real_columns.py::test_a_real_column[recommended]",
    "tests/client/test_ledger.py::test_programs_at_once_cannot_spend_the_same_rest",
    "tests/console/test_live.py::test_every_open_page_hears_of_every_answer",
    "tests/e2e/test_answer_page.py::test_two_steps_where_people_enrol",
    "tests/e2e/test_cards.py::.*[postgresql",
    "tests/e2e/test_deploy.py::test_a_proxy_as_shipped_passes_answers_on_and_keeps_to_limits[nginx]",
    "tests/e2e/test_fuzzing.py::test_bytes_that_are_barely_http_do_no_harm[dealer]",
    "tests/e2e/test_fuzzing.py::test_nothing_that_the_api_allows_is_a_server_error[dealer]",
    "tests/e2e/test_javascript_client.py::test_servers_take_its_reports[OLH",
    "tests/e2e/test_links_for_people.py::test_invitations_become_links_of_every_format",
    "tests/e2e/test_page_screens.py::test_the_main_screens_in_every_look[de-light]",
    "tests/e2e/test_page_screens.py::test_the_main_screens_in_every_look[en-dark]",
    "tests/e2e/test_processes.py::test_a_dealer_that_comes_back_deals_on_where_it_was",
    "tests/e2e/test_processes.py::test_a_dealer_that_stops_leaves_people_to_answer_without_a_card",
    "tests/e2e/test_stored_reports.py",
    "tests/e2e/test_watching.py::test_the_api_names_who_may_ask_and_every_refusal[dealer]",
    "tests/e2e/test_words.py::test_a_long_simulation_stops_when_asked",
    "tests/planning/test_plans.py::test_auto_keeps_its_promise_and_is_the_best",
    "tests/planning/test_plans.py::test_more_trust_never_costs_accuracy",
    "tests/privacy/test_informed.py::test_planning[1000",
    "tests/research/test_audit_choice.py::test_a_claim_that_is_too_small_is_refuted_in_the_view_everything",
    "tests/research/test_interval_coverage.py::test_waves[0.02",
    "tests/survey/committee/test_recovery.py::test_a_party_that_hangs_is_named_and_no_other[1",
    "tests/survey/committee/test_recovery.py::test_a_party_that_hangs_is_named_and_no_other[2",
    "tests/survey/committee/test_recovery.py::test_a_party_that_hangs_is_named_and_no_other[9",
    "tests/tables/test_engines.py::test_every_format_and_group[.arrow",
    "tests/tables/test_engines.py::test_every_format_and_group[.csv.gz",
)
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
    "tests/documents/test_large_domains_page.py",
    "tests/documents/test_tutorial.py",
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
    "tests/survey/committee",
    "tests/survey/test_campaign.py::test_whatever_number_enrols_from_the_fewest_on_can_be_dealt_to",
    "tests/survey/test_deck.py::TestBijection::test_a_million_positions_of_a_large_one",
    "tests/survey/test_deck.py::TestGoldenVectors::test_they_are_up_to_date",
    "tests/survey/test_deck.py::TestUniformity",
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


def is_slow(test: str) -> bool:
    """Whether a test, by its id, is in the list: by its whole name, or by the beginning of it."""
    for name in SLOW:
        file, star, kind = name.partition(".*")
        if star and test.startswith(file) and kind in test:
            return True
        if test == name or (test.startswith(name) and name[-1] != "]"):
            return True
    return False


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
        if is_slow(item.nodeid):
            item.add_marker("slow")
        if is_heavy(item.nodeid) or item.get_closest_marker("statistical"):
            item.add_marker("heavy")
