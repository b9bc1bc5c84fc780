"""From what somebody wants to ask to a campaign: a plan is made, then the document."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.numbers import Numbers
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import Frequency
from jrr.planning.choice import AUTO, cardless_words, check_word
from jrr.planning.defaults import COLLUDERS, LEAST_GAIN, LOST
from jrr.planning.numbers import plan_number
from jrr.planning.plans import DELTA, Plan, plan
from jrr.reporting.catalogue import FALLBACK, known_languages
from jrr.reporting.explain import contributor_text
from jrr.reporting.lay import SurveyFacts, asker_lines, consent_text, introduction, with_details
from jrr.survey.addresses import without_slash
from jrr.survey.campaign import ARRIVAL, ENROL, Campaign
from jrr.survey.committee.schedule import default_threshold
from jrr.survey.dealer_kinds import (
    Committee,
    ContributorGroups,
    DealerKind,
    DealerServer,
    DealerServers,
    NoDealer,
    Party,
)
from jrr.survey.promises import EVERYTHING

_DOUBLINGS, _MOST = 10, 10**12  # how far to look for a number of people that has cards


@dataclass(frozen=True, kw_only=True)
class CampaignRequest:
    """What somebody knows who wants to ask a question; `campaign` makes the document of it.

    Example:
        >>> request = CampaignRequest(
        ...     question="Have you taken bribes?",
        ...     n=1_000,
        ...     epsilon=1.0,
        ...     collector="https://collector.example",
        ...     dealer="https://dealer.example",
        ... )
        >>> mechanism = request.campaign().mechanism
        >>> mechanism.name, mechanism.announced
        ('MRR', True)

    Raises:
        ArgumentError: Two fields contradict each other; what plan and document need is checked
            where they are made.
    """

    question: str
    n: int  # people per deck; where people enrol first, the fewest of them
    epsilon: float  # of one report in the view that is planned for
    collector: str  # its address
    labels: tuple[str, ...] = ("no", "yes")
    colluders: int | None = None  # 5, or everybody else, unless given
    dealer_epsilon: float | None = None  # against dealer and collector together; None: no cap
    mechanism: str = "auto"
    frequency: Frequency = None  # what is known of the answer beforehand
    view: str = "cards"
    delta: float = DELTA  # of the view "everything", and of what contributors are told of it
    lost: float = LOST  # share of cards that are dealt and never reported with
    closed_deck: bool = False  # cards that cancel, instead of sums announced at the end
    dealer: str | None = None  # its address
    dealers: tuple[str, ...] = ()  # addresses of several, each with a card for everybody
    may_leave_out: bool = False  # of several dealers those that cannot be reached
    parties: tuple[Party, ...] = ()  # of a committee, instead of a dealer
    groups: bool = False  # contributors deal among themselves, in groups of n
    threshold: int | None = None  # parties that may collude; None: a minority
    dealing: str | None = None  # None: on arrival, or by enrolment where a committee deals
    capacity: int | None = None  # None: one deck, or ten times the fewest where people enrol
    opens: str | None = None
    closes: str | None = None
    invitations: bool = True
    covariates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    min_cell: int = MIN_CELL
    results_every: int = 1  # new reports between two results that are shown
    min_batch: int = 1  # reports in the smallest result, and between two; also at the end
    number: tuple[float, float] | None = None  # ask for a number between these ends; no labels
    consent: str | None = None  # None: what jrr plan explain tells contributors; the cost is added
    consent_version: str = "1"
    language: str = "en"  # of the consent text that is made where none is given
    by: str | None = None  # who asks: an organisation or a person
    contact: str | None = None  # whom to ask: a mail address, a number, a postal address

    def __post_init__(self) -> None:
        checks.one_of("language", self.language, known_languages())
        named = (bool(self.parties), self.dealer is not None, bool(self.dealers), self.groups)
        if sum(named) > 1:
            raise ArgumentError("dealer, dealers, parties and groups must not be given together")
        if self.may_leave_out and not self.dealers:
            raise checks.refusal("may_leave_out", True, "given with several dealers only")
        if self.dealers and self.closed_deck:
            raise checks.refusal("closed_deck", True, "left out where several dealers deal")
        if self.dealing is not None:
            checks.one_of("dealing", self.dealing, (ENROL, ARRIVAL))
        object.__setattr__(self, "mechanism", check_word(self.mechanism))
        if self._named_dealer and self.mechanism in cardless_words():
            raise checks.refusal("mechanism", self.mechanism, "one with cards for who deals them")

    @property
    def _named_dealer(self) -> bool:
        return bool(self.parties or self.dealers) or self.dealer is not None or self.groups

    @property
    def effective_dealing(self) -> str:
        """How cards are dealt: a committee deals to those it knows, whatever was asked for."""
        return ENROL if self.parties else self.dealing or ARRIVAL

    @property
    def _effective_colluders(self) -> int | None:
        """More members than a group's protocol withstands would know all its cards."""
        if self.colluders is not None or not self.groups:
            return self.colluders
        return min(COLLUDERS, default_threshold(checks.deck_size(self.n)))

    def plan(self) -> Plan:
        """The mechanism for these people, whose guarantee holds however many of them enrol."""
        options = self._plan_options()
        chosen = plan_for(self.n, self.effective_dealing, self.epsilon, **options)
        if self._sorted_only and chosen.mechanism.masked and chosen.kind == AUTO:
            return self._plan_of_sorted_decks(options)
        if self.number is not None and chosen.kind == AUTO and not self._sorted_only:
            return replace(chosen, mechanism=self._best_of_number(chosen, self.number))
        return chosen

    def _best_of_number(self, chosen: Plan, ends: tuple[float, float]) -> Mechanism:
        """The number in steps with noise where that is more accurate than rounded to one of two."""
        low, high = ends
        request = chosen.request
        mean = None
        if isinstance(self.frequency, int | float):
            mean = low + float(self.frequency) * (high - low)
        planned = plan_number(
            request.n,
            self.epsilon,
            low,
            high,
            mean=mean,
            colluders=request.colluders,
            dealer_epsilon=request.dealer_epsilon,
            view="everything" if self.view == "everything" else "cards",
            delta=self.delta if self.view == "everything" else None,
            lost=self.lost,
            announced=request.announced,
        )
        rounded = replace(planned, question=Numbers(low, high, chosen.mechanism))
        # A rounded number is simpler for clients and readers: steps must be worth it.
        better = planned.stderr() ** 2 <= (1 - LEAST_GAIN) * rounded.stderr() ** 2
        # Several dealers deal for yes and no only; who deals must have cards to deal.
        fits = planned.mechanism.deals == chosen.mechanism.deals and not self.dealers
        return planned.mechanism if better and fits else chosen.mechanism

    @property
    def _sorted_only(self) -> bool:
        """Whether those who deal can only shuffle cards that everybody knows."""
        return bool(self.parties) or self.groups

    def _plan_of_sorted_decks(self, options: dict[str, Any]) -> Plan:
        """The best that a committee or a group can deal."""
        words = [key for key, family in families().items() if family.chosen and not family.encodes]
        plans = [
            plan_for(self.n, self.effective_dealing, self.epsilon, **options | {"mechanism": word})
            for word in words
        ]
        sorted_plans = [one for one in plans if not one.mechanism.masked]
        return min(sorted_plans, key=Plan.stderr)

    def campaign(self, now: datetime | None = None) -> Campaign:
        """The campaign that asks for this.

        Args:
            now: The time; None: the end of the campaign is not compared with it.

        Returns:
            A campaign with a name of its own, different at every call.

        Raises:
            ArgumentError: A field is refused, nobody deals the cards that the mechanism needs,
                somebody should deal cards that there are not, or the campaign is over already.
        """
        chosen = self.plan()
        if self._named_dealer and not chosen.mechanism.deals:
            raise self._no_cards(chosen)
        campaign = campaign_from(
            chosen,
            question=self.question,
            labels=self.labels if self.number is None else _ends_in_words(self.number),
            number=self.number,
            collector=without_slash(self.collector),
            dealer=self._dealer_kind(),
            dealing=self.effective_dealing,
            capacity=self.capacity,
            covariates=self.covariates,
            delta=self.delta,
            results_every=self.results_every,
            min_batch=self.min_batch,
            consent_version=self.consent_version,
            opens=self.opens,
            closes=self.closes,
            invitations=self.invitations,
            min_cell=self.min_cell,
            by=self.by,
            contact=self.contact,
        )
        if self.consent is None:
            consent = self._consent(campaign, chosen)
        else:  # who writes a text of their own cannot leave out what it costs, or understate it
            consent = f"{self.consent.rstrip()}\n\n{cost_statement(campaign)}"
        campaign = replace(campaign, consent=consent)
        _, end = campaign.times
        if now is not None and end is not None and end <= now:
            raise checks.refusal("closes", self.closes, "a time in the future")
        return campaign

    def _consent(self, campaign: Campaign, chosen: Plan) -> str:
        """Three sentences, one number, and details: in English all that jrr plan explain tells."""
        facts = SurveyFacts(
            costs=campaign.costs,
            deals=campaign.deals,
            items=(),
            open_items=tuple(campaign.covariates),
            by=self.by,
            contact=self.contact,
        )
        if self.language != FALLBACK:
            return consent_text(facts, self.language)
        details = contributor_text(
            chosen, self.delta, committee=bool(self.parties), groups=self.groups
        )
        details = "\n".join([details, *asker_lines(facts, self.language)])
        return with_details(introduction(facts, self.language), details, self.language)

    def _plan_options(self) -> dict[str, Any]:
        return {
            "colluders": self._effective_colluders,
            "k": len(self.labels),
            "dealer_epsilon": self.dealer_epsilon,
            "delta": self.delta if self.view == "everything" else None,
            "view": self.view,
            "mechanism": self.mechanism,
            "frequency": self.frequency,
            "lost": self.lost,
            "announced": not (self.closed_deck or self._sorted_only),
        }

    def _dealer_kind(self) -> DealerKind:
        if self.parties:
            fallback = default_threshold(len(self.parties))
            threshold = fallback if self.threshold is None else self.threshold
            return Committee(parties=self.parties, threshold=threshold)
        if self.dealers:
            addresses = tuple(without_slash(address) for address in self.dealers)
            return DealerServers(addresses, self.may_leave_out)
        if self.groups:
            return ContributorGroups()
        return NoDealer() if self.dealer is None else DealerServer(without_slash(self.dealer))

    def _no_cards(self, chosen: Plan) -> ArgumentError:
        """Why somebody who deals must be left out, and what would have cards."""
        n, colluders = chosen.request.n, chosen.request.colluders
        given = "--groups" if self.groups else "--dealer and --party"
        reason = (
            f"{given} must be left out: nothing with cards is more accurate than "
            f"{chosen.mechanism.brief()} for {n:,} people and {colluders:,} "
            f"{'colluder' if colluders == 1 else 'colluders'}"
        )
        if n != self.n:  # see planned_for
            reason += (
                f" (enrolment of {self.n:,} or more is planned for {n:,}, whose uneven deck hides "
                "less than all larger ones)"
            )
        options = self._plan_options()
        if self._sorted_only and self.mechanism == AUTO:
            options["mechanism"] = "drr"
        enough = more_people(self.n, self.effective_dealing, self.epsilon, **options)
        if enough is not None:
            reason += f"; with -n {enough} there would be cards"
        return ArgumentError(reason)


def cost_statement(campaign: Campaign) -> str:
    """What every consent text ends with, whoever wrote it: the cost, and what adds up.

    Args:
        campaign: With its guarantees.

    Returns:
        One or two sentences.
    """
    text = f"Your answer costs you {campaign.cost_line}."
    if campaign.cost_view == EVERYTHING:
        most = show_guarantee(campaign.guarantee("dealer"), 0.0)
        text += f" Whoever deals the cards and the collector together: {most} (view: dealer)."
    return f"{text} The costs of several answers add up."


def planned_for(people: int, dealing: str, k: int = 2) -> int:
    """The n to plan for, so that the guarantee holds for the decks that will be dealt.

    Enrolment fixes n later. A deck that does not come out even (an odd number of signs, or of
    decoys that k does not divide) hides a little less than its neighbours, and larger decks more
    than smaller ones. Planning for the largest n at or below the fewest people that is one short
    of even in both ways makes the promise hold for every larger n.
    """
    people = checks.integer("n", people, 2)
    if dealing != ENROL:
        return people
    period = math.lcm(2, k)
    least = max(period - 1, 3)
    if people < least:
        raise checks.refusal("n", people, f"at least {least} where enrolment fixes it")
    return max(least, people - (people + 1) % period)


def campaign_from(
    chosen: Plan,
    *,
    question: str,
    labels: Sequence[str],
    collector: str,
    dealer: DealerKind | None = None,
    dealing: str = ARRIVAL,
    capacity: int | None = None,
    covariates: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> Campaign:
    """The campaign that asks a question by a plan's mechanism.

    Args:
        chosen: What was planned.
        question: What is asked.
        labels: The answers, one per value.
        collector: Its address.
        dealer: Who deals; left out where the mechanism has no cards.
        dealing: On arrival, or by enrolment.
        capacity: Contributors at most; None: one deck, or ten times the fewest who enrol.
        covariates: Public attributes and their values.
        **more: Further fields of `Campaign`.

    Returns:
        The campaign.

    Raises:
        ArgumentError: Nobody deals the cards, the labels are not one per answer, or a field of
            the campaign is refused.
    """
    deals = chosen.mechanism.deals
    if deals and (dealer is None or isinstance(dealer, NoDealer)):
        raise ArgumentError(
            "dealer must be an address, a committee or groups: the mechanism deals cards"
        )
    if len(labels) != chosen.request.k:
        raise checks.refusal("labels", list(labels), f"{chosen.request.k} labels, one per answer")
    fewest = chosen.request.n
    if capacity is None:
        capacity = fewest if dealing == ARRIVAL else 10 * fewest
    return Campaign(
        question=question,
        labels=tuple(labels),
        mechanism=chosen.mechanism.for_dealers(
            len(dealer.addresses) if isinstance(dealer, DealerServers) else 1
        ),
        dealer=dealer if deals and dealer is not None else NoDealer(),
        collector=collector,
        colluders=chosen.request.colluders if deals else 0,
        dealing=dealing,
        capacity=capacity,
        covariates={name: tuple(values) for name, values in (covariates or {}).items()},
        **more,
    )


def more_people(people: int, dealing: str, epsilon: float, **options: Any) -> int | None:
    """A number of people, larger than this one, whose plan deals cards; None where none is found.

    Between a number that has them and half of it, the search takes cards to be for all larger
    numbers; decks that do not come out even may spoil that, but never what is returned.
    """

    def deals(n: int) -> bool:
        return plan_for(n, dealing, epsilon, **options).mechanism.deals

    candidates = (people << times for times in range(1, _DOUBLINGS + 1))
    enough = next((n for n in candidates if n <= _MOST and deals(n)), None)
    if enough is None:
        return None
    too_few = max(people, enough // 2)
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        enough, too_few = (middle, too_few) if deals(middle) else (enough, middle)
    return enough


def plan_for(people: int, dealing: str, epsilon: float, **options: Any) -> Plan:
    """A plan for a campaign; see `planned_for`."""
    return plan(planned_for(people, dealing, options.get("k", 2)), epsilon, **options)


def _ends_in_words(ends: tuple[float, float]) -> tuple[str, str]:
    """What a number is rounded to, for tables of results."""
    low, high = ends
    return f"{low:g}", f"{high:g}"
