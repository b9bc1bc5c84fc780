# %% [markdown]
# # An analyst of many reports: a million rows, by group
#
# Reports arrive as files. `jrr.tables` reads and writes them in batches, so memory stays the same
# however many rows there are. Here a million answers with a public column "region" become a file
# of reports, and the file becomes shares by region with intervals. Needs `pip install
# '.[tables]'`.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jrr
from jrr import tables

PEOPLE, BATCH = 1_000_000, 100_000
SHARES = {"north": 0.08, "south": 0.10, "east": 0.12, "west": 0.10}
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The answers
#
# In a survey these are on people's devices. Here they are simulated, one batch at a time.

# %%
draw = np.random.default_rng(11)
schema = pa.schema([("answer", pa.string()), ("region", pa.string())])
with pq.ParquetWriter(folder / "answers.parquet", schema) as file:
    for _ in range(PEOPLE // BATCH):
        regions = draw.choice(list(SHARES), BATCH)
        chance = np.array([SHARES[region] for region in regions])
        answers = np.where(draw.random(BATCH) < chance, "yes", "no")
        file.write_table(pa.table([answers, regions], schema=schema))

# %% [markdown]
# ## Cards and reports
#
# The dealer writes a file of cards, the contributors' side turns answers and cards into reports.
# Only the region is kept in the clear, because it is public.

# %%
rng = jrr.SeededRandom(12)
# Regions are to be compared. Noise of one closed deck of MRR cancels over everybody and not within
# a region, so DRR is better here; so would be one deck of MRR for each region.
plan = jrr.plan(n=PEOPLE, epsilon=0.5, colluders=100, dealer_epsilon=2.5, mechanism="drr")
tables.deal(plan.mechanism, folder / "cards.parquet", colluders=100, rng=rng)
tables.perturb(
    folder / "answers.parquet",
    "answer",
    folder / "reports.parquet",
    labels=["no", "yes"],
    cards=folder / "cards.parquet",
    epsilon=0.5,
    keep=["region"],
    rng=rng,
)
size = (folder / "reports.parquet").stat().st_size
print(f"{PEOPLE:,} reports in {size / 1e6:.2f} MB")

# %% [markdown]
# ## Shares by region
#
# The file knows its mechanism and its labels, so `estimate` needs neither. Groups of fewer than
# 20 reports would not be shown, only counted (`min_cell`).

# %%
result = tables.estimate(folder / "reports.parquet", by="region")
low, high = result.estimate.interval(0.95)
yes = result.header.labels.index("yes")
print(f"all      {100 * result.estimate.frequencies[yes]:5.2f}%")
for group in result.groups:
    low, high = group.estimate.interval(0.95)
    share = group.estimate.frequencies[yes]
    print(f"{group.name:7}  {100 * share:5.2f}%  ({100 * low[yes]:.2f}% to {100 * high[yes]:.2f}%)")

# %% [markdown]
# ## Differences
#
# Groups of one survey draw from one deck, which ties their errors together; `differences` takes
# that into account.

# %%
for first, second, gap in result.groups.differences():
    low, high = gap.interval(0.95)
    clear = "a difference" if low[yes] > 0 or high[yes] < 0 else "could be nothing"
    print(f"{first} - {second}: {100 * low[yes]:+.2f} to {100 * high[yes]:+.2f} points, {clear}")
