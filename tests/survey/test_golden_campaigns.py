"""Campaigns written by earlier versions are still read, byte for byte."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jrr.survey.campaign import Campaign, hash_of
from jrr.survey.dealer_kinds import Committee, DealerServer, NoDealer, Party, read_dealer

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "campaigns.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GOLDEN)
def test_an_old_document_is_read_and_written_unchanged(name: str) -> None:
    data = GOLDEN[name]["document"].encode()
    campaign = Campaign.from_bytes(data)
    assert campaign.to_bytes() == data
    assert campaign.hash == hash_of(data) == GOLDEN[name]["hash"]


def test_the_kinds_of_dealer_are_types() -> None:
    kinds = {name: Campaign.from_bytes(GOLDEN[name]["document"].encode()).dealer for name in GOLDEN}
    assert kinds["dealer_server"] == DealerServer("https://dealer.example")
    assert kinds["no_dealer"] == NoDealer()
    parties = tuple(
        Party(
            url=f"https://party{at}.example",
            link=f"party{at}.example:7000",
            certificate=f"-----BEGIN CERTIFICATE-----\nparty {at}\n-----END CERTIFICATE-----\n",
        )
        for at in range(3)
    )
    assert kinds["committee"] == Committee(parties=parties, threshold=1)
    for kind in kinds.values():
        assert read_dealer(kind.to_document()) == kind
    assert kinds["committee"].roles == ("party:0", "party:1", "party:2")
    assert kinds["dealer_server"].roles == ("dealer",)


@pytest.mark.parametrize("module", ["jrr", "jrr.survey.campaign", "jrr.survey.contributor"])
def test_reading_a_campaign_does_not_load_the_planner(module: str) -> None:
    """A contributor's device has no use for it; what answers cost is told by a few sums."""
    code = (
        f"import sys, {module}; "
        "heavy = ('jrr.planning', 'jrr.reporting', 'scipy.stats'); "
        "light = {'jrr.reporting', 'jrr.reporting.cost_table'}; "
        "print([name for name in sys.modules if name.startswith(heavy) and name not in light])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
