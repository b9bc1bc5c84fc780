# %% [markdown]
# # A survey researcher: one yes-or-no question
#
# You want to know how many of your respondents have done something they would not admit. You know
# how many people will take part and how private their answers must be. This example goes from
# there to the sentence that you put into your report.

# %%
import numpy as np

import jrr

# %% [markdown]
# ## Plan
#
# 6,000 people will answer. Each should be protected with ε = 1 against you and against five other
# respondents who tell you their cards. If the dealer conspires with you, ε must still be at most
# 3. You expect between 5% and 30% to say yes.

# %%
plan = jrr.plan(n=6_000, epsilon=1.0, colluders=5, dealer_epsilon=3.0, frequency=(0.05, 0.30))
plain = jrr.plan(n=6_000, epsilon=1.0, mechanism="rr", frequency=(0.05, 0.30))
mechanism = plan.mechanism

print("chosen:", mechanism)
for view, epsilon in plan.guarantees.items():
    print(f"  ε = {epsilon:.3f} against somebody with the view {view!r}")
print(f"standard error: {100 * plan.stderr():.2f} points")
print(f"standard error without cards: {100 * plain.stderr():.2f} points")

# %% [markdown]
# Is that enough people? For a margin of error of two percentage points you need this many:

# %%
needed = jrr.required_n(0.02, epsilon=1.0, colluders=5, dealer_epsilon=3.0, frequency=(0.05, 0.30))
print(f"for ±2 points: {needed:,} people")

# %% [markdown]
# ## Ask
#
# The dealer hands out one card each. Every respondent's device turns the true answer and the card
# into a report. At the end the dealer announces, once, the noisy sum of the cards that were used:
# it takes the cards out of the total, and tells nothing more of anybody. You never see the first
# line of true answers; here we make them up, 14% yes. The seed makes this page repeatable. A real
# survey leaves `rng` out and gets cryptographic randomness.

# %%
rng = jrr.SeededRandom(2026)
true_answers = np.zeros(6_000, int)
true_answers[:840] = 1

cards = mechanism.deal(rng)
reports = mechanism.respond(true_answers, cards, rng)
announced = mechanism.announce(cards, rng=rng)  # the dealer, once, when all reports are in
print("ten reports:", np.asarray(reports)[:10].tolist(), "- whole numbers, most of them noise")

# %% [markdown]
# ## Report
#
# The estimate takes the noise out. Its interval covers the people who answered: add the sampling
# error of your survey if they stand for a larger population.

# %%
estimate = mechanism.estimate(reports, announced=announced)
share, error = estimate.frequencies[1], estimate.stderr[1]
low, high = (ends[1] for ends in estimate.interval(0.95))

print(f"{100 * share:.1f}% said yes (95% interval {100 * low:.1f}% to {100 * high:.1f}%)")
