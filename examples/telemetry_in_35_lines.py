"""Telemetry: 3,000 devices, a file of what they sent, and what it says."""

import json
from pathlib import Path

import jrr

# What is asked: public, shipped with the software of the devices as JSON.
pages = jrr.HeavyHitters(jrr.Words("abcdefghijklmnopqrstuvwxyz", 6, cut=True), epsilon=3.0)
seconds = jrr.RangeTree.for_epsilon(0, 60, bins=64, epsilon=2.0, clip=True)
crashed = jrr.Longitudinal(jrr.RR(epsilon=1.0), permanent=jrr.RR(epsilon=2.0))  # every day
lines = {name: [] for name in ("pages", "seconds", "crashed")}

# Each device: three lines of JSON; the true answers stay on it.
for device in range(3_000):
    memory = crashed.remember_one()  # once, kept on the device
    page = "home" if device % 3 else "basket"
    lines["pages"].append(pages.report_to_json(pages.respond_one(page)))
    lines["seconds"].append(seconds.report_to_json(seconds.respond_one(device % 30)))
    crashed_today = int(device % 10 == 0)
    lines["crashed"].append(crashed.report_to_json(crashed.respond_one(crashed_today, memory)))

# The collector: a header, and the lines as they come.
for name, asked in (("pages", pages), ("seconds", seconds), ("crashed", crashed)):
    header = {"jrr": 1, "holds": "reports", "mechanism": asked.to_dict()}
    documents = [header, *lines[name]]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in documents))

# Whoever has the files.
for name in lines:
    asked, reports = jrr.read_reports(f"{name}.jsonl")
    found = asked.find(reports, 2) if name == "pages" else asked.estimate(reports)
    print(name, found.quantile(0.5) if name == "seconds" else found.summary())
