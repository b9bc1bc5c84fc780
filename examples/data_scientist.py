# %% [markdown]
# # A data scientist: a data frame whose sensitive column never leaves as it is
#
# 20,000 rows with a sensitive answer, a region and an age. The answers are perturbed where they
# are; what goes on is a frame of reports. Plans, estimates and regressions are tables in a
# notebook. Needs `pip install '.[tables,formulas,plots]'`.

# %%
import numpy as np
import pandas as pd

import jrr

PEOPLE = 20_000
draw = np.random.default_rng(5)
people = pd.DataFrame(
    {"region": draw.choice(["north", "south"], PEOPLE), "age": draw.integers(18, 80, PEOPLE)}
)
chance = 1 / (1 + np.exp(3.0 - 0.03 * people["age"] - 0.8 * (people["region"] == "south")))
people["bribe"] = np.where(draw.random(PEOPLE) < chance, "yes", "no")

# %% [markdown]
# ## Plan: what would be how accurate

# %%
plan = jrr.plan(PEOPLE, epsilon=2.0, mechanism="rr")
plan

# %% [markdown]
# ## Perturb
#
# The frame of reports has the same rows and columns. The mechanism travels with the column.

# %%
reports = jrr.perturb_frame(people, {"bribe": ["no", "yes"]}, epsilon=2.0, rng=jrr.SeededRandom(6))
reports.head()

# %% [markdown]
# ## Shares by region

# %%
shares = jrr.estimate_frame(reports, by="region")
shares

# %% [markdown]
# ## A regression through the perturbation

# %%
fit = jrr.regress_frame(reports, "bribe ~ age + C(region)", value="yes")
fit

# %%
fit.names, fit.coefficients.round(2), fit.stderr.round(2)
