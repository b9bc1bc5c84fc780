"""Writes docs/cli.md from the commands' own help: `python docs/make_cli.py`."""

from collections.abc import Iterator
from pathlib import Path

import click

from jrr import errors
from jrr.cli.app import cli

TARGET = Path(__file__).with_name("cli.md")

INTRO = """\
# Command line

Made by `make docs`: the overview by hand, the rest from the commands' own `--help`.

Commands are written `jrr …`: call `.venv/bin/jrr`, or activate the environment first
(`. .venv/bin/activate`).

| command | does |
|---|---|
| `jrr plan` | chooses a mechanism, compares it with all the others, states what each adversary can learn |
| `jrr plan explain` | what to tell contributors, and a paragraph for an ethics board |
| `jrr plan effect` | how likely a difference of groups or a coefficient is found, and with how many people |
| `jrr plan margin` | how many people, or which ε, give a wanted margin |
| `jrr plan number` | a mechanism for the mean of a number |
| `jrr plan survey` | how exact every question of a draft would be |
| `jrr plan compare` | cards beside shuffling and secure aggregation |
| `jrr plan two-phase` | whether it pays to ask a few people first |
| `jrr plan rounds` | what it costs, and how accurate it is, if the same people report again and again, such as every day for a year |
| `jrr survey create` | a survey's document, from a draft or one question |
| `jrr survey ethics` | the document for an ethics board: what is stored, who can learn what, withdrawal, consent |
| `jrr survey open` | gives the document to the servers |
| `jrr survey invite` | one-time invitations, as a table, links, QR codes or letters |
| `jrr survey enrol`, `deal`, `deal-in-group` | where people enrol before cards are dealt, or deal among themselves |
| `jrr survey answer` | a contributor's side: asks, and sends what is sensitive only perturbed |
| `jrr survey ledger` | what a contributor's answers have cost together |
| `jrr survey show` | counts, and results |
| `jrr survey extend` | takes answers until a later time than the document says |
| `jrr survey close` | the end: takes no more answers, gets the sums of the cards from the dealers |
| `jrr survey change` | what has changed since the wave before |
| `jrr survey export`, `report` | all answers with a codebook and an R script; a page of results |
| `jrr survey delete` | deletes answers, results and invitations at the servers |
| `jrr file deal` | the dealer: secret cards into a file, one row per contributor |
| `jrr file perturb` | a column of labels or numbers (CSV, Parquet, Arrow) into a file of reports, with cards or without |
| `jrr file shuffle` | files of reports into one in random order, without anything that tells them apart |
| `jrr file estimate` | files of reports into shares, or means of numbers, with intervals; `--by` group, `--weight`, `--plot` |
| `jrr file pool` | one estimate of files of different mechanisms, such as two phases |
| `jrr file database` | estimates of the closed surveys in a collector's database |
| `jrr file convert` | a file of reports in another format |
| `jrr file keys` | the collector's keys, for reports that the shuffler cannot read |
| `jrr file heavy-hitters` | finds frequent strings that nobody listed: `perturb` on devices, `find` at the collector |
| `jrr file quantiles` | quantiles of a number: `perturb` on devices, `estimate` at the collector |
| `jrr serve` | runs a dealer, a collector, a party of a committee or the answer page; `jrr serve all` \
(`make serve`) all of them here, to try things out |
| `jrr audit privacy` | tries to refute the privacy claim of a mechanism, in a view, by experiment |
| `jrr audit program` | the same for any program |
| `jrr study reproduce` | every figure, table and numeric claim of the paper, and further figures, as CSV, PNG, \
SVG and one report |
| `jrr study simulate` | thousands of whole surveys, exactly in distribution, in milliseconds |
| `jrr study bench` | what a report costs on this machine, beside bare numpy; `serve`: a collector under load |
| `jrr study attacks` | what each attack on a survey gains |
| `jrr demo` | a complete survey, side by side |

Every command has `--help` and `--json`. An error is one line that names the argument, its value and
what is allowed. The command line caps the dealer at ε + 2 unless told otherwise.

## Exit codes

A command ends with 0 when it is done. Otherwise the code says what kind of failure it was; in
Python the same failures are [exceptions](api.md#errors).

| code | exception | meaning |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    parts = [INTRO + "".join(_exit_codes()) + "\n`jrr audit` ends with 1 if it refutes a claim.\n"]
    top = click.Context(cli, info_name="jrr", terminal_width=100, **cli.context_settings)
    for context in _contexts(top):
        text = context.command.get_help(context)
        parts.append(f"## {context.command_path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _exit_codes() -> Iterator[str]:
    """A row for every exception with an exit code of its own."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    known = {kind.exit_code: kind for kind in kinds if issubclass(kind, errors.JrrError)}
    for code, kind in sorted(known.items()):
        meaning = (kind.__doc__ or "").splitlines()[0]
        yield f"| {code} | `{kind.__name__}` | {meaning} |\n"


def _contexts(parent: click.Context) -> Iterator[click.Context]:
    """The command and everything below it."""
    yield parent
    if isinstance(parent.command, click.Group):
        for name in getattr(parent.command, "table", parent.command.commands):
            command = parent.command.get_command(parent, name)
            assert command is not None  # it is listed
            yield from _contexts(click.Context(command, parent=parent, info_name=name))


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
