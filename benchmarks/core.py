"""The core: reports against bare numpy, the paper's search against its loops, planning."""

import time

import numpy as np

import jrr
from benchmarks.timing import alternate, ratio
from jrr.research.paper.literal import respond_in_pairs
from jrr.survey.draft import Draft
from jrr.survey.plan import plan_draft
from tests.literal_algorithm1 import literal_search

N = 1_000_000


def respond_and_tally() -> list[dict[str, object]]:
    """Binary reports with secure randomness, validation included, against the barest numpy."""
    generator = np.random.default_rng(1)
    values = (generator.random(N) < 0.1).astype(np.int64)
    rr = jrr.RR(epsilon=0.1)
    joint = jrr.JRR(n=N, p=rr.p, s=0.4)
    dealt = jrr.DRR(n=N, truth=0.05, own=0.01)
    # Plain arrays: the same cards serve in every round, as no survey may use them.
    joint_cards, dealt_cards = np.asarray(joint.deal()), np.asarray(dealt.deal())
    best = alternate(
        {
            "numpy": lambda: np.bincount(generator.random(N) < rr.p),
            "RR": lambda: rr.tally(rr.respond(values)),
            "JRR": lambda: joint.tally(joint.respond(values, joint_cards)),
            "DRR": lambda: dealt.tally(dealt.respond(values, dealt_cards)),
        },
        rounds=25,
    )
    return [ratio(name, "numpy", best, at_most=1.0) for name in ("RR", "JRR", "DRR")]


def masks() -> list[dict[str, object]]:
    """Masked reports against the same additions in numpy; a deck of masks against DRR's deck."""
    m = jrr.MRR(N, own=3.0, card_rate=0.8, total_rate=0.3)
    dealt = jrr.DRR(n=N, truth=0.4)
    generator = np.random.default_rng(1)
    values = (generator.random(N) < 0.1).astype(np.uint8)
    cards, source = np.asarray(m.deal()), jrr.SecureRandom()
    lie, low, high = np.uint64(m.lie_words), -m.limit, m.limit + 1

    def bare() -> int:
        coins = (source.words(N) >> np.uint64(1)) < lie
        reports = np.clip((coins.view(np.uint8) ^ values) + cards, low, high)
        return int(reports.sum(dtype=np.int64))

    best = alternate(
        {
            "numpy": bare,
            "MRR": lambda: m.tally(m.respond(values, cards, source)),
            "DRR's deck": lambda: dealt.deal(source),
            "MRR's deck": lambda: m.deal(source),
        },
        rounds=15,
    )
    return [
        ratio("MRR", "numpy", best, at_most=1.5),
        ratio("MRR's deck", "DRR's deck", best, at_most=5.0),
    ]


def blocks() -> list[dict[str, object]]:
    """Five yes/no items with one coin against five single answers, masks included."""
    people = N // 5
    block = jrr.MRR(people, own=4.0, card_rate=0.5, announced_rate=0.5, coin=jrr.Block((2,) * 5))
    one = jrr.MRR(people, own=0.8, card_rate=0.5, announced_rate=0.5)
    values = (np.random.default_rng(1).random((people, 5)) < 0.1).astype(np.uint8)
    cards, source = np.asarray(block.deal()), jrr.SecureRandom()

    def single() -> None:
        for item in range(5):
            own = np.ascontiguousarray(cards[:, item])
            one.tally(one.respond(values[:, item], own, source))

    best = alternate(
        {
            "block of five": lambda: block.tally(block.respond(values, cards, source)),
            "five answers": single,
        },
        rounds=15,
    )
    return [ratio("block of five", "five answers", best, at_most=2.0)]


def search() -> list[dict[str, object]]:
    """The paper's Algorithm 1 at its default setting."""
    best = alternate(
        {
            "algorithm1": lambda: jrr.algorithm1(10_000, 0.1, 5),
            "literal loops": lambda: literal_search(10_000, 0.1, 5, 1e-4, 1e-4),
        },
        rounds=50,
    )
    return [ratio("algorithm1", "literal loops", best, at_most=0.01)]


def planning() -> list[dict[str, object]]:
    """A whole plan against one evaluation of a variance."""
    mechanism = jrr.plan(10_000, 0.1, 5).mechanism
    best = alternate(
        {
            "plan": lambda: jrr.plan(10_000, 0.1, 5, dealer_epsilon=2.1),
            "variance": lambda: mechanism.variance([9_000, 1_000]),
        },
        rounds=200,
    )
    return [ratio("plan", "variance", best, at_most=50.0)]


def questionnaire() -> list[dict[str, object]]:
    """Planning fifteen yes/no questions of which each person is asked some, in processor time."""
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(15)]
    draft = Draft.from_dict({"title": "T", "split": "together", "questions": asked})
    seconds = []
    for people in (2_000, 2_001, 2_002):  # what one plan remembers is of no use to the next
        before = time.process_time()
        plan_draft(draft, people, epsilon=2.0)
        seconds.append(time.process_time() - before)
    worst = max(seconds)
    what = "planning 15 questions together, the slowest of three: seconds of processor"
    return [{"what": what, "ratio": worst, "at_most": 2.0, "kept": worst <= 2.0}]


def simulation() -> list[dict[str, object]]:
    """A thousand surveys of two million people against the same, person by person."""
    n, runs = 2_000_000, 1_000
    mechanism = jrr.algorithm1(n, 0.1, 5)
    counts = (n - n // 10, n // 10)
    values = (np.arange(n) < n // 10).astype(np.uint8)
    generator = np.random.default_rng(1)

    def each_person() -> None:
        reports = respond_in_pairs(values, mechanism.p, mechanism.rho, generator)
        mechanism.estimate(reports, carded=True)

    fast = {"surveys": lambda: jrr.simulate(mechanism, counts, runs, generator)}
    best = alternate(fast, rounds=5)
    slow = alternate({"one survey": each_person}, rounds=2)["one survey"]
    best["per person"] = runs * slow  # every survey costs the same
    return [ratio("surveys", "per person", best, at_most=1e-3)]
