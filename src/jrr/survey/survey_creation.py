"""From a questionnaire to a survey: every item is planned, then the document is made."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.planning.choice import AUTO, cardless_words, check_word
from jrr.planning.defaults import LOST
from jrr.reporting.lay import SurveyFacts, consent_text
from jrr.survey.addresses import without_slash
from jrr.survey.campaign import ARRIVAL, MOST, Campaign
from jrr.survey.dealer_kinds import DealerKind, DealerServer, DealerServers, NoDealer
from jrr.survey.open_answers import covariates_of
from jrr.survey.promises import EVERYTHING
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.questionnaire_plan import ItemPlan, QuestionnairePlan, plan_questionnaire
from jrr.survey.study import next_wave
from jrr.survey.surveys import Survey, part_names, part_question


@dataclass(frozen=True, kw_only=True)
class SurveyRequest:
    """What somebody knows who wants to ask a questionnaire; `survey` makes the document of it.

    Example:
        >>> asked = Questionnaire.from_dict(
        ...     {"title": "T", "items": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> request = SurveyRequest(
        ...     questionnaire=asked,
        ...     people=1_000,
        ...     collector="https://collector.example",
        ...     dealers=("https://dealer.example",),
        ... )
        >>> request.survey().campaigns["a"].mechanism.name
        'MRR'
    """

    questionnaire: Questionnaire
    people: int  # who are invited; the capacity
    collector: str  # its address
    dealers: tuple[str, ...] = ()  # addresses: one, or several that each deal a card
    may_leave_out: bool = False  # of several dealers those that cannot be reached
    response: float = 1.0  # the share who answer
    epsilon: float | None = None  # of all answers together; None: as the questionnaire says
    dealer_epsilon: float | None = None  # against dealers and collector together
    mechanism: str = AUTO
    lost: float = LOST
    closed_deck: bool = False
    opens: str | None = None
    closes: str | None = None
    invitations: bool = True
    min_cell: int = MIN_CELL
    results_every: int = 1
    min_batch: int = 1
    consent: Mapping[str, str] | None = None  # by language; None: the catalogue's
    consent_version: str = "1"
    after: Survey | None = None  # the wave before: the same people are asked again

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanism", check_word(self.mechanism))
        if self.may_leave_out and len(self.dealers) < 2:
            raise checks.refusal("may_leave_out", True, "given with several dealers only")
        if len(self.dealers) > 1 and self.closed_deck:
            raise checks.refusal("closed_deck", True, "left out where several dealers deal")
        if self.dealers and self.mechanism in cardless_words():
            raise checks.refusal("mechanism", self.mechanism, "one with cards for who deals them")
        if not self.dealers and self.mechanism not in cardless_words():
            raise ArgumentError(
                "dealers must be one or several addresses, or mechanism one without cards, such as "
                f"'rr', got none and mechanism={self.mechanism!r}"
            )
        if self.after is not None and self.after.first.collector != self._collector:
            raise checks.refusal("collector", self.collector, "that of the wave before")

    @property
    def _collector(self) -> str:
        return without_slash(self.collector)

    def plan(self) -> QuestionnairePlan:
        """Every item within the total."""
        return plan_questionnaire(
            self.questionnaire,
            self.people,
            response=self.response,
            epsilon=self.epsilon,
            dealer_epsilon=self.dealer_epsilon,
            lost=self.lost,
            announced=not self.closed_deck,
            mechanism=self.mechanism,
            rounded=True,
        )

    def survey(self, now: datetime | None = None) -> Survey:
        """The survey that asks for this.

        Args:
            now: The time; None: the end of the survey is not compared with it.

        Raises:
            ArgumentError: A field is refused, or the survey is over already.
        """
        planned = {one.item.name: one for one in self.plan().items}
        campaigns = {
            name: self._campaign(planned[item.name], part_question(item, label))
            for name, (item, label) in part_names(self.questionnaire).items()
        }
        bare = Survey(
            questionnaire=self.questionnaire,
            campaigns=campaigns,
            consent=dict.fromkeys(self.questionnaire.languages, ""),
            consent_version=self.consent_version,
        )
        if self.after is not None:
            bare = _next_wave(self.after, bare)
        survey = replace(bare, consent=self._consent(bare))
        if len(survey.to_bytes()) > MOST:
            raise ArgumentError(
                f"the survey must be at most {MOST} bytes, got {len(survey.to_bytes())}: ask fewer "
                "items, or fewer labels"
            )
        _, end = survey.first.times
        if now is not None and end is not None and end <= now:
            raise checks.refusal("closes", self.closes, "a time in the future")
        return survey

    def _campaign(self, planned: ItemPlan, question: str) -> Campaign:
        item = planned.item
        mechanism = planned.plan.mechanism.for_dealers(max(1, len(self.dealers)))
        ends = (item.low, item.high) if item.kind == "number" else None
        return Campaign(
            question=question,
            labels=item.answers if ends is None else tuple(f"{end:g}" for end in ends),
            number=ends,
            mechanism=mechanism,
            dealer=self._dealer_kind() if mechanism.deals else NoDealer(),
            collector=self._collector,
            colluders=planned.plan.request.colluders if mechanism.deals else 0,
            dealing=ARRIVAL,
            capacity=checks.integer("people", self.people, 2),
            opens=self.opens,
            closes=self.closes,
            invitations=self.invitations,
            covariates=covariates_of(self.questionnaire),
            min_cell=self.min_cell,
            results_every=self.results_every,
            min_batch=self.min_batch,
        )

    def _dealer_kind(self) -> DealerKind:
        addresses = tuple(without_slash(address) for address in self.dealers)
        if len(addresses) == 1:
            return DealerServer(addresses[0])
        return DealerServers(addresses, self.may_leave_out)

    def _consent(self, survey: Survey) -> dict[str, str]:
        found = {}
        for language in self.questionnaire.languages:
            written = consent_text(facts_of(survey, language), language)
            if self.consent is not None:  # who writes their own cannot leave out what it costs
                if language not in self.consent:
                    raise checks.refusal(
                        "consent", sorted(self.consent), f"with one for {language}"
                    )
                written = f"{self.consent[language].rstrip()}\n\n{written}"
            found[language] = written
        return found


def _next_wave(before: Survey, alone: Survey) -> Survey:
    """A survey as the wave after another; refused if it breaks what people were promised."""
    waves = alone.questionnaire.waves
    left = waves - before.wave  # with this one
    if left < 1:
        allowed = f"at most {waves}, the waves of its questionnaire"
        raise checks.refusal("wave", before.wave + 1, allowed)
    study = next_wave(before.whole_study, before.as_earlier, alone.losses, left)
    return replace(alone, panel=before.collector_salt, wave=before.wave + 1, study=study)


def facts_of(survey: Survey, language: str) -> SurveyFacts:
    """What people are told of a survey's cost, with the texts of one of its languages."""
    asked = survey.questionnaire
    names: dict[str, list[str]] = {}  # of the parts of every item
    for part in survey.parts:
        names.setdefault(part.item.name, []).append(part.name)
    texts = {item.name: item.text[language] for item in asked.items}
    at_delta = survey.cost_view == EVERYTHING
    items = [
        (
            texts[item],
            survey.loss(survey.cost_view, parts),
            survey.delta_of(parts) if at_delta else 0.0,
        )
        for item, parts in names.items()
    ]
    return SurveyFacts(
        costs=survey.costs,
        deals=survey.deals,
        items=items,
        open_items=tuple(item.text[language] for item in asked.open),
        by=None if asked.by is None else asked.by[language],
        contact=None if asked.contact is None else asked.contact[language],
    )
