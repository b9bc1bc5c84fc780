"""The file that a group of contributors shares before it deals among itself."""

import json
from dataclasses import dataclass
from pathlib import Path

from jrr._base import checks
from jrr.dealing.committee.meeting import Peer
from jrr.dealing.committee.schedule import default_threshold
from jrr.errors import DamagedError, JrrError
from jrr.protocol.texts import check_link, split_link


@dataclass(frozen=True, kw_only=True)
class GroupMembers:
    """Who deals among themselves."""

    name: str  # of the deal, a new one each time
    peers: list[Peer]
    threshold: int | None  # members that may collude; None: a minority
    survey: str | None = None  # the name of the survey that the cards are for

    @property
    def effective_threshold(self) -> int:
        """Members that may collude and still learn no card."""
        return default_threshold(len(self.peers)) if self.threshold is None else self.threshold

    @property
    def agreed_name(self) -> str:
        """What all members must agree on: cards for one survey are none for another."""
        return self.name if self.survey is None else f"{self.name} for {self.survey}"


def read_group(file: Path) -> GroupMembers:
    """The group that a file names.

    Args:
        file: {"name": …, "threshold": …, "members": [{"link": …, "certificate": …}, …]} in JSON,
            and "survey": its link, where the cards are for one.

    Returns:
        Its members, in order.

    Raises:
        ArgumentError: There is no such file.
        DamagedError: It does not name 3 to 16 different members.
    """
    try:
        document = json.loads(file.read_text("utf-8"))
        entries = document["members"]
        peers = [Peer(*check_link(entry["link"]), str(entry["certificate"])) for entry in entries]
        checks.integer("members", len(peers), 3, 16)
        threshold = document.get("threshold")
        if threshold is not None:
            threshold = checks.integer("threshold", threshold, 1, (len(peers) - 1) // 2)
        link = document.get("survey")
        members = GroupMembers(
            name=str(document["name"]),
            peers=peers,
            threshold=threshold,
            survey=None if link is None else split_link(link)[1],
        )
    except JrrError as error:
        raise DamagedError(f"file must name the group's members, in {file} {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"file must name the group's members, {file} does not: {error!r}"
        ) from None
    except OSError:
        raise checks.refusal("file", str(file), "a file that exists") from None
    if len({peer.certificate for peer in peers}) != len(peers):
        raise DamagedError("members must have certificates of their own, got one twice")
    return members
