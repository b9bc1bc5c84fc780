"""An MPyC program, run by three processes: the independent engine of `test_mpyc.py`.

MPyC reads the command line when it is imported, so what it is asked comes by the environment.
"""

import json
import os
import sys
from typing import Any

import mpyc.random  # type: ignore[import-untyped]
from mpyc.runtime import mpc  # type: ignore[import-untyped]

ASKED = json.loads(os.environ["JRR_TEST_ASKED"])


async def deals(field: Any) -> list[list[int]]:
    """The cards of many deals, by MPyC's own shuffle."""
    found = []
    for _ in range(ASKED["deals"]):
        cards = [field(card) for card in ASKED["deck"]]
        mpyc.random.shuffle(field, cards)
        found.append([int(card) for card in await mpc.output(cards)])
    return found


async def opened(field: Any) -> dict[str, Any]:
    """Each party enters the vectors that it holds; their sums, and the cards times α."""
    mine = ASKED["shares"][mpc.pid]
    sums = {}
    for name in ("cards", "tags"):
        entered = mpc.input([field(number) for number in mine[name]])
        sums[name] = [sum(column[1:], column[0]) for column in zip(*entered, strict=True)]
    alpha = field(ASKED["alpha"])
    sums["times alpha"] = [alpha * card for card in sums["cards"]]
    return {name: [int(one) for one in await mpc.output(row)] for name, row in sums.items()}


async def main() -> None:
    field = mpc.SecFld(ASKED["prime"])
    await mpc.start()
    answer = await (deals(field) if "deals" in ASKED else opened(field))
    await mpc.shutdown()
    if mpc.pid == 0:
        sys.stdout.write(json.dumps(answer))


mpc.run(main())
