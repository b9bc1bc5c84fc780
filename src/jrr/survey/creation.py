"""From a draft to a survey: every sensitive question is planned, then the document is made."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil

from jrr._base import checks
from jrr.dealing.interface import Dealing
from jrr.dealing.kinds import Nobody
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.mechanisms.request import DEALER_ABOVE, LOST, Frequency
from jrr.planning.choice import AUTO, cardless_words, check_word
from jrr.protocol.documents import MOST
from jrr.protocol.texts import without_slash
from jrr.survey.analyses import AnalysisPlan, cells_for, plan_analyses
from jrr.survey.draft import Draft
from jrr.survey.plan import DraftPlan, PlanOptions, QuestionPlan, expected_reports, plan_draft
from jrr.survey.promises import COST, DELTA
from jrr.survey.study import dealer_left, next_wave
from jrr.survey.survey import Survey

_DOUBLINGS, _MOST_PEOPLE = 10, 10**9  # how far to look for a number of people that has cards


@dataclass(frozen=True, kw_only=True)
class SurveyRequest:
    """What somebody knows who wants to ask; `survey` makes the document of it.

    Example:
        >>> from jrr.dealing.kinds import Dealers
        >>> from jrr.survey.draft import one_question
        >>> request = SurveyRequest(
        ...     draft=one_question("Have you taken bribes?"),
        ...     people=1_000,
        ...     collector="https://collector.example",
        ...     dealing=Dealers(("https://dealer.example",)),
        ... )
        >>> request.survey().mechanisms["answer"].name
        'MRR'
    """

    draft: Draft
    people: int  # who are invited; where people enrol first, the fewest of them
    collector: str  # its address
    dealing: Dealing = field(default_factory=Nobody)  # who deals the cards
    response: float = 1.0  # the share who answer
    epsilon: float | None = None  # of all answers together; None: as the draft says
    dealer_epsilon: float | None = None  # against dealers and collector together
    mechanism: str = AUTO
    colluders: int | None = None  # 5, or everybody else, unless given
    view: str = "cards"  # in which ε must hold
    delta: float = DELTA  # of the view "everything"
    frequency: Frequency = None  # what is known of the answer to the only sensitive question
    lost: float = LOST  # share of cards that are dealt and never reported with
    closed_deck: bool = False  # cards that cancel, instead of sums announced at the end
    verified: bool | None = None  # cards and answers are proved; None: where they can be
    deck: int | None = None  # cards in one deck; None: as many as answers are expected
    capacity: int | None = None  # None: the people; ten times as many where people enrol
    opens: str | None = None
    closes: str | None = None
    invitations: bool = True
    min_cell: int = MIN_CELL
    results_every: int = 1
    min_batch: int = 1
    keep_days: int | None = None  # after closing, then servers delete all but the document
    pilot: bool = False  # a test, with any number of people: it may be thrown away at any time
    consent: Mapping[str, str] | None = None  # by language, of one's own
    consent_version: str = "1"
    logo: str | None = None  # of who asks: a small PNG in base64
    after: Survey | None = None  # the wave before: the same people are asked again
    analyses: tuple[str, ...] = ()  # what is to be made of it, beside what the draft names

    def __post_init__(self) -> None:
        named = tuple(dict.fromkeys((*self.draft.analyses, *self.analyses)))
        object.__setattr__(self, "draft", replace(self.draft, analyses=named))
        object.__setattr__(self, "mechanism", check_word(self.mechanism))
        if self.verified:
            object.__setattr__(self, "dealing", self.dealing.as_verified())
        deals = self.dealing.deals
        if self.closed_deck and len(self.dealing.addresses) > 1:
            raise checks.refusal("closed_deck", True, "left out where several deal")
        if deals and self.mechanism in cardless_words():
            raise checks.refusal("mechanism", self.mechanism, "one with cards for who deals them")
        if not deals and self.mechanism not in cardless_words():
            raise ArgumentError(
                "dealing must name who deals (--dealer), or mechanism one without cards: 'rr', got "
                f"nobody and mechanism={self.mechanism!r}"
            )
        if self.after is not None and self.after.collector != without_slash(self.collector):
            raise checks.refusal("collector", self.collector, "that of the wave before")

    def plan(self) -> DraftPlan:
        """Every sensitive question within the total; a test of very few as for enough to deal."""
        people = checks.integer("people", self.people, 2)
        if self.pilot and self.response > 0:  # at least two who answer
            people = max(people, ceil(2 / self.response))
        planned = self._plan_for(people)
        if self.pilot and self.dealing.deals and not _dealt(planned):
            enough = self._enough_for_cards()
            planned = planned if enough is None else self._plan_for(enough)
        return planned

    def _plan_for(self, people: int) -> DraftPlan:
        return plan_draft(
            self.draft,
            people,
            response=self.response,
            epsilon=self.epsilon,
            options=PlanOptions(
                dealer_epsilon=self._dealer_cap(),
                lost=self.lost,
                announced=False if self.closed_deck else self._announcements(),
                mechanism=self.mechanism,
                colluders=self._colluders(people),
                view=self.view,
                delta=self.delta,
                frequency=self.frequency,
                deck=self.deck,
                dealing=self.dealing,
                wave=self._wave,
                fewest=self._fewest(),
            ),
        )

    def _fewest(self) -> int:
        return 1 if self.pilot else max(self.min_cell, self.min_batch)

    def planned_analyses(self) -> list[AnalysisPlan]:
        """What will come of each analysis that the draft names, and what will not be possible."""
        waves = self.after or self.survey()
        return plan_analyses(self.draft, self.plan(), self._fewest(), waves, wave=self._wave)

    def _dealer_cap(self) -> float | None:
        """What is wished; in a later wave at most what the study's promise leaves for it."""
        if self.after is None or not self.dealing.deals:
            return self.dealer_epsilon
        total = self.draft.epsilon if self.epsilon is None else self.epsilon
        wished = total + DEALER_ABOVE if self.dealer_epsilon is None else self.dealer_epsilon
        waves = self.draft.waves - self.after.wave
        left = dealer_left(self.after.whole_study, self.after.as_earlier, waves)
        # More than is left will be refused, with the figures of what is wished.
        return min(wished, left) if left > total else wished

    def _announcements(self) -> int:
        """As the draft says; two where a wave follows, so that pairs can be told."""
        return self.draft.announced_in(self._wave) if self.dealing.deals else 1

    @property
    def _wave(self) -> int:
        return 1 if self.after is None else self.after.wave + 1

    def _stated_colluders(self, dealt: Sequence[QuestionPlan]) -> int:
        """As many as were asked for, though fewer people may be asked one question."""
        wished = [self.colluders] if dealt and self.colluders is not None else []
        return max((*wished, *(one.plan.request.colluders for one in dealt)), default=0)

    def _colluders(self, people: int) -> int | None:
        if self.colluders is not None:
            return self.colluders
        return self.dealing.colluders_of(checks.deck_size(self.deck or people))

    def survey(self, now: datetime | None = None) -> Survey:
        """The survey that asks for this.

        Args:
            now: The time; None: the end of the survey is not compared with it.

        Returns:
            A survey with a name of its own, different at every call.

        Raises:
            ArgumentError: A field is refused, nobody deals the cards that are needed, somebody
                should deal cards that there are not, or the survey is over already.
        """
        planned = self.plan()
        mechanisms = {
            one.question.name: self.dealing.fitted(one.plan.mechanism)
            if one.plan.mechanism.deals
            else one.plan.mechanism
            for one in planned.questions
        }
        dealt = _dealt(planned)
        if not dealt and self.dealing.deals:
            raise self._no_cards(planned)
        survey = Survey(
            title=self.draft.title,
            languages=self.draft.languages,
            questions=tuple(question.as_asked for question in self.draft.questions),
            by=self.draft.by,
            contact=self.draft.contact,
            waves=self.draft.waves,
            cells=self._cells(planned),
            analyses=self.draft.analyses,
            mechanisms=mechanisms,
            together=planned.together,
            dealing=self.dealing,
            collector=without_slash(self.collector),
            capacity=self._capacity(),
            colluders=self._stated_colluders(dealt),
            opens=self.opens,
            closes=self.closes,
            invitations=self.invitations,
            min_cell=1 if self.pilot else self.min_cell,
            pilot=self.pilot,
            keep_days=self.keep_days,
            results_every=1 if self.pilot else self.results_every,
            min_batch=1 if self.pilot else self.min_batch,
            delta=self.delta,
            consent=self._consent(),
            consent_version=self.consent_version,
            logo=self.logo,
        )
        if self.verified is None:
            with suppress(ArgumentError):  # what cannot be verified is as good as without
                survey = replace(survey, dealing=self.dealing.as_verified())
        if self.after is not None:
            survey = _next_wave(self.after, survey)
        if len(survey.to_bytes()) > MOST:
            raise ArgumentError(
                f"the survey must be at most {MOST} bytes, got {len(survey.to_bytes())}: ask fewer "
                "questions, or with fewer labels"
            )
        _, end = survey.times
        if now is not None and end is not None and end <= now:
            raise checks.refusal("closes", self.closes, "a time in the future")
        return survey

    def _consent(self) -> dict[str, str]:
        """Who writes their own cannot leave out what it costs."""
        if self.consent is None:
            return dict.fromkeys(self.draft.languages, COST)
        return {
            language: text if COST in text else f"{text.rstrip()}\n\n{COST}"
            for language, text in self.consent.items()
        }

    def _cells(self, planned: DraftPlan) -> tuple[str, ...]:
        """The open questions to close on; none where no sums are announced."""
        announced = any(one.plan.mechanism.announced for one in planned.questions)
        return cells_for(self.draft) if announced else ()

    def _capacity(self) -> int:
        return self.dealing.capacity_for(self.people) if self.capacity is None else self.capacity

    def _no_cards(self, planned: DraftPlan) -> ArgumentError:
        """Why somebody who deals must be left out, and what would have cards."""
        one = planned.questions[0].plan
        n, colluders = one.request.n, one.request.colluders
        reason = (
            f"who deals must be left out: nothing with cards is more accurate than "
            f"{one.mechanism.brief()} for {n:,} people and {colluders:,} "
            f"{'colluder' if colluders == 1 else 'colluders'}"
        )
        if n != expected_reports(self.people, self.response) and self.deck is None:  # even_deck
            reason += (
                f" (enrolment of {self.people:,} or more is planned for {n:,}, whose uneven deck "
                "hides less than all larger ones)"
            )
        enough = None if self.deck is not None else self._enough_for_cards()
        return ArgumentError(
            reason + (f"; with {enough:,} people there would be cards" if enough else "")
        )

    def _enough_for_cards(self) -> int | None:
        """A larger number of people whose plan deals cards; None where none is found.

        Between a number that has them and half of it, the search takes cards to be for all larger
        numbers; decks that do not come out even may spoil that, but never what is returned.
        """

        def deals(people: int) -> bool:
            return bool(_dealt(self._plan_for(people)))

        candidates = (self.people << times for times in range(1, _DOUBLINGS + 1))
        enough = next((n for n in candidates if n <= _MOST_PEOPLE and deals(n)), None)
        if enough is None:
            return None
        too_few = max(self.people, enough // 2)
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            enough, too_few = (middle, too_few) if deals(middle) else (enough, middle)
        return enough


def _dealt(planned: DraftPlan) -> list[QuestionPlan]:
    """The questions that have cards."""
    return [one for one in planned.questions if one.plan.mechanism.deals]


def _next_wave(before: Survey, alone: Survey) -> Survey:
    """A survey as the wave after another; refused if it breaks what people were promised."""
    left = alone.waves - before.wave  # with this one
    if left < 1:
        allowed = f"at most {alone.waves}, the waves of its draft"
        raise checks.refusal("wave", before.wave + 1, allowed)
    study = next_wave(before.whole_study, before.as_earlier, alone.losses, left)
    return replace(alone, panel=before.collector_salt, wave=before.wave + 1, study=study)
