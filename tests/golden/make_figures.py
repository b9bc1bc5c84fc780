"""Golden figures: what plans, estimates, losses, files and surveys say, to the last digit.

    python -m tests.golden.make_figures

writes figures.json beside this file. A change of the code that is not meant to change a figure must
leave all of them as they are.
"""

import csv
import json
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr import tables
from jrr.survey.draft import Draft
from jrr.survey.plan import plan_draft

PATH = Path(__file__).with_name("figures.json")
EXAMPLE = PATH.parents[2] / "examples" / "survey.toml"
PEOPLE = 400
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mechanism": "drr"},
    {"mechanism": "jrr"},
    {"announced": False},
)
Figures = Iterator[tuple[str, Any]]


def mechanisms() -> dict[str, jrr.Mechanism]:
    """One of every kind, and of MRR each way to get rid of the masks."""
    return {
        "RR": jrr.RR(epsilon=1.0),
        "RR k=5": jrr.RR(k=5, epsilon=1.0),
        "JRR": jrr.JRR(PEOPLE, p=0.6, rho=-0.4),
        "JRR k=3": jrr.JRR(PEOPLE, p=0.5, s=0.2, k=3),
        "DRR": jrr.DRR(PEOPLE, truth=0.4, own=0.1),
        "DRR k=4": jrr.DRR(PEOPLE, truth=0.3, own=0.1, k=4),
        "MRR announced": jrr.MRR(PEOPLE, own=3.0, card_rate=0.1, announced_rate=1.0),
        "MRR closed": jrr.MRR(PEOPLE, own=3.0, card_rate=0.93, total_rate=0.2),
        "MRR k=4": jrr.MRR(PEOPLE, own=3.0, card_rate=0.1, announced_rate=1.0, k=4),
        "SS": jrr.SS(k=12, epsilon=1.0),
        "SUE": jrr.SUE(k=8, epsilon=1.0),
        "OUE": jrr.OUE(k=8, epsilon=1.0),
        "OLH": jrr.OLH(k=40, epsilon=1.0),
    }


def plans() -> Figures:
    """The mechanism that a plan chooses, its losses and its error."""
    for n in (20, 1_000, 10_000):
        for epsilon in (0.1, 1.0, 3.0):
            for options in OPTIONS:
                plan = jrr.plan(n, epsilon, **options)
                yield (
                    f"plan n={n} epsilon={epsilon} {options}",
                    {
                        "mechanism": plan.mechanism.to_dict(),
                        "guarantees": dict(plan.guarantees),
                        "stderr": [plan.stderr(), plan.stderr(0.1), plan.stderr(0.5)],
                    },
                )
    for margin in (0.05, 0.01):
        yield f"required_n margin={margin}", jrr.required_n(margin, epsilon=1.0)


def estimates() -> Figures:
    """What seeded reports say, and what they lose."""
    for name, mechanism in mechanisms().items():
        rng = jrr.SeededRandom(7)
        cards = mechanism.deal(rng)
        values = np.arange(PEOPLE) % 10 % mechanism.k
        reports = mechanism.respond(values, cards, rng)
        more: dict[str, Any] = {}
        announces = mechanism.to_dict().get("announced_rate")
        if isinstance(mechanism, jrr.MRR) and announces and cards is not None:
            more = {"announced": mechanism.announce(cards, rng=rng)}
        found = mechanism.estimate(reports, **more)
        views = ("report", "truths", "cards", "dealer")
        yield (
            f"estimate {name}",
            {
                "counts": found.counts.tolist(),
                "stderr": found.stderr.tolist(),
                "interval": [ends.tolist() for ends in found.interval(0.95)],
                "losses": {view: mechanism.epsilon(view) for view in views},
                "variance": mechanism.variance(np.bincount(values, minlength=mechanism.k)).tolist(),
            },
        )


def files() -> Figures:
    """A file that is dealt to, perturbed and estimated by group."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "answers.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["answer", "region"])
            rows.writerows(["yes" if at % 5 == 0 else "no", "ns"[at % 2]] for at in range(PEOPLE))
        for kind in ("rr", "drr", "mrr"):
            out, cards = folder / f"{kind}.parquet", folder / f"{kind}-cards.parquet"
            options: dict[str, Any] = {"epsilon": 1.0}
            if kind != "rr":
                plan = jrr.plan(PEOPLE, 1.0, mechanism=kind, announced=False)
                tables.deal(plan.mechanism, cards, rng=jrr.SeededRandom(3))
                options = {"cards": cards}
            tables.perturb(
                folder / "answers.csv",
                "answer",
                out,
                labels=["no", "yes"],
                keep=["region"],
                rng=jrr.SeededRandom(4),
                **options,
            )
            found = tables.estimate(out, by="region")
            yield (
                f"file {kind}",
                {
                    "all": found.estimate.to_dict(0.95),
                    "groups": {one.name: one.estimate.to_dict(0.95) for one in found.groups or ()},
                },
            )


def surveys() -> Figures:
    """What is planned for every question of a survey, and what all of them lose together."""
    asked = Draft.from_dict(tomllib.loads(EXAMPLE.read_text("utf-8")))
    for people in (300, 2_000):
        plan = plan_draft(asked, people, response=0.6)
        yield (
            f"survey of {people}",
            {
                one.question.name: {
                    "mechanism": one.plan.mechanism.to_dict(),
                    "epsilon": one.epsilon,
                    "margin": one.margin,
                    "losses": {view: one.loss(view) for view in ("everything", "dealer")},
                }
                for one in plan.questions
            },
        )


def figures() -> dict[str, Any]:
    """All of them, as JSON has them."""
    found = {name: figure for make in (plans, estimates, files, surveys) for name, figure in make()}
    return dict(json.loads(json.dumps(found)))


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in figures().items())
    PATH.write_text(f"{{\n{lines}\n}}\n", "utf-8")
