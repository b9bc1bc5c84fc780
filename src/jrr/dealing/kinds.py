"""All ways of dealing, as a survey's document names them."""

from jrr.dealing.committee_dealing import Committee, Party
from jrr.dealing.dealers import Dealers
from jrr.dealing.groups import Groups
from jrr.dealing.nobody import Nobody

AnyDealing = Nobody | Dealers | Committee | Groups

__all__ = ["AnyDealing", "Committee", "Dealers", "Groups", "Nobody", "Party"]
