# %% [markdown]
# # A telemetry engineer: devices that report every day
#
# 8,000 devices report once a day which of four modes they are in. Several collectors count
# reports and send their counts, not the reports, to one place that publishes a daily figure.

# %%
import json

import jrr

DEVICES, COLLECTORS = 8_000, 4
MODES = ("off", "low power", "normal", "fault")

plan = jrr.plan(n=DEVICES, epsilon=1.0, colluders=10, dealer_epsilon=3.0, k=len(MODES))
mechanism = plan.mechanism
shipped = json.dumps(mechanism.to_dict())  # goes to every device and collector; it is public
print("shipped with the software:", shipped)

# %% [markdown]
# ## On a device
#
# A device knows the mechanism, its own mode and its own card of today. `respond_one` makes one
# report without arrays, `report_to_json` a value that JSON can say. Send it once: keep the report,
# not the mode, until it is acknowledged.


# %%
def report_of(mode: str, card: object, rng: jrr.SeededRandom) -> str:
    """What a device sends today: one line of JSON."""
    device = jrr.from_dict(json.loads(shipped))
    report = device.respond_one(MODES.index(mode), card, rng)
    return json.dumps(device.report_to_json(report))


# %% [markdown]
# ## On the collectors
#
# Every collector reads the lines that reach it (what no device can have sent is refused), counts
# them and passes its tally on as JSON. All tallies of a day name the same deck. When all reports
# of the day are in, the dealer announces the noisy sum of the cards that were used, and the masks
# are taken off.


# %%
def tally_of(lines: list[str], day: str) -> str:
    """A collector's counts of a day, as it sends them on."""
    reports = [mechanism.report_from_json(json.loads(line)) for line in lines]
    return mechanism.tally(reports, deck=day).to_json()


def estimate_of(tallies: list[str], announced: object) -> jrr.Estimate:
    """The daily figure, from all collectors' counts and the dealer's sum."""
    counts = sum(jrr.Tally.from_json(text) for text in tallies)
    return mechanism.estimate(mechanism.settle(counts, announced=announced))


# %% [markdown]
# ## Two days
#
# Cards are fresh every day: two reports from one card would expose a device whose mode changed.
# The ε of the days add up, so decide beforehand how many days a device takes part. On the second
# day 2% more of the devices are in the mode "fault".

# %%
rng = jrr.SeededRandom(7)
faults = {"monday": 240, "tuesday": 400}
daily: dict[str, jrr.Estimate] = {}
for day, broken in faults.items():
    modes = ["fault"] * broken + ["off"] * 1_000 + ["low power"] * 2_000
    modes += ["normal"] * (DEVICES - len(modes))
    cards = mechanism.deal(rng)
    assert cards is not None  # this mechanism deals cards
    reports = [report_of(mode, card, rng) for mode, card in zip(modes, cards, strict=True)]
    tallies = [tally_of(reports[part::COLLECTORS], day) for part in range(COLLECTORS)]
    announced = mechanism.announce(cards, rng=rng)  # the dealer, once a day
    daily[day] = estimate_of(tallies, announced)
    low, high = daily[day].interval(0.95)
    print(day)
    for at, mode in enumerate(MODES):
        share = daily[day].frequencies[at]
        print(f"  {mode:9}  {100 * share:5.1f}%  ({100 * low[at]:.1f}% to {100 * high[at]:.1f}%)")

# %% [markdown]
# ## Did it change?
#
# A difference of two days has an interval of its own. The decks of two days are dealt
# independently.

# %%
change = jrr.difference(daily["tuesday"], daily["monday"], same_deck=False)
low, high = change.interval(0.95)
at = MODES.index("fault")
print(f"faults, tuesday minus monday: {100 * low[at]:+.1f} to {100 * high[at]:+.1f} points")
