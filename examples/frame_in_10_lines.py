import pandas as pd

import jrr

people = pd.DataFrame(
    {"bribe": ["no", "no", "yes", "no"] * 500, "region": ["north", "south"] * 1_000}
)
reports = jrr.perturb_frame(people, {"bribe": ["no", "yes"]}, epsilon=2)
reports.to_parquet("reports.parquet")  # the mechanism stands in the file
print(jrr.estimate_frame(pd.read_parquet("reports.parquet"), by="region"))
