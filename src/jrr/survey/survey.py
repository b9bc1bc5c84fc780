"""A survey: one document that dealers, collector and every contributor hold alike.

It says once what all questions share (who asks, the servers, times, languages, waves), then the
questions. Its bytes are canonical JSON (sorted keys, no blanks, UTF-8) and its name is their
SHA-256. A contributor compares the bytes that dealers and collector serve, so none of them can
promise one thing to contributors and do another.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from types import MappingProxyType

from jrr._base import checks
from jrr.dealing.interface import Dealing
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError
from jrr.estimation.groups import MIN_CELL, fewest_to_show
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.numbers import Numbers
from jrr.privacy.cost_table import CostTable, added
from jrr.protocol.documents import bytes_from_hex, canonical_json, hash_of
from jrr.protocol.texts import check_address, check_text, origin, read_time, survey_path
from jrr.survey.grouping import checked_by
from jrr.survey.logo import check_logo
from jrr.survey.other_waves import AFTER, YES, wave_answers
from jrr.survey.promises import COST, DELTA, EVERYTHING, cost_table, informed_epsilon
from jrr.survey.question import OpenAnswers, Question, Texts, covariates_of, is_asked
from jrr.survey.sensitive import SensitiveQuestion, counted
from jrr.survey.study import EarlierWave, Study, WaveLoss, first_wave
from jrr.survey.survey_document import Together, document_of, read_survey_document
from jrr.survey.together import JointAnswers, joint_answers, not_asked

VIEWS = ("report", "cards", EVERYTHING, "dealer")
MOST_CAPACITY = 10**12
MOST_DAYS = 36_525  # a hundred years


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What is asked, how each answer is perturbed, and what that promises in all.

    Raises:
        ArgumentError: A field is not what it should be, two servers have one address, or less is
            promised than what holds.
    """

    title: Texts
    languages: tuple[str, ...]
    questions: tuple[Question, ...]
    mechanisms: Mapping[str, Mechanism]  # of every sensitive question, by its name
    dealing: Dealing  # who deals the cards
    collector: str  # its address
    capacity: int  # contributors at most
    colluders: int = 0  # contributors who may show their cards to the adversary
    consent: Texts  # by language, each with the gap `COST`
    consent_version: str = "1"
    by: Texts | None = None  # who asks: an organisation or a person
    contact: Texts | None = None  # whom to ask: a mail address, a number, a postal address
    logo: str | None = None  # of who asks: a small PNG in base64
    opens: str | None = None  # UTC, as 2026-01-31T12:00:00Z
    closes: str | None = None
    invitations: bool = True  # False: anybody may answer, as often as they like
    min_cell: int = MIN_CELL  # reports in the smallest group that is shown
    results_every: int = 1  # new reports between two results that are shown
    min_batch: int = 1  # reports in the smallest result, and between two; also at the end
    pilot: bool = False  # a test: people are told so, and it may be thrown away at any time
    keep_days: int | None = None  # after closing, then servers delete; None: operators do
    waves: int = 1  # how often the same people are asked
    wave: int = 1
    panel: str | None = None  # hash of the first wave, whose pseudonyms the collector knows again
    study: Study | None = None  # what all waves promise; None: each what this one does
    together: tuple[Together, ...] = ()  # questions whose answers share a coin
    cells: tuple[str, ...] = ()  # open questions on whose crossing it is to be closed
    analyses: tuple[str, ...] = ()  # what is to be made of it (jrr.survey.analyses)
    delta: float = DELTA  # of one answer in the view "everything", where its loss is random
    informed: Mapping[str, float] | None = None  # promised ε in that view, of such answers
    promised: Mapping[str, float] | None = None  # view -> ε of all answers; computed if not given
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        self._check_texts()
        checks.integer("capacity", self.capacity, 1, MOST_CAPACITY)
        checks.integer("min_cell", self.min_cell, 1)
        checks.integer("results_every", self.results_every, 1, self.capacity)
        checks.integer("min_batch", self.min_batch, 1, self.capacity)
        checks.integer("colluders", self.colluders, 0)
        checks.real("delta", self.delta, "in [0, 1)", 0.0, 1.0, open_high=True)
        for name in ("invitations", "pilot"):
            if not isinstance(getattr(self, name), bool):
                raise checks.refusal(name, getattr(self, name), "true or false")
        if self.pilot and self.wave > 1:
            raise checks.refusal("pilot", True, "false in a later wave: its people are real")
        if self.keep_days is not None:
            checks.integer("keep_days", self.keep_days, 1, MOST_DAYS)
            if self.closes is None:
                raise checks.refusal(
                    "keep_days", self.keep_days, "left out where there is no closing time"
                )
        opens, closes = self.times
        if opens is not None and closes is not None and closes <= opens:
            later = f"later than the opening time, {self.opens}"
            raise checks.refusal("closes", self.closes, later)
        self._check_mechanisms()
        self._check_closing()
        self._check_servers()
        self._check_waves()
        self._check_promises()

    def _check_texts(self) -> None:
        check_text("nonce", self.nonce, 100)
        check_text("consent_version", self.consent_version, 100)
        if self.logo is not None:
            check_logo(self.logo)
        if set(self.consent) != set(self.languages):
            allowed = f"a text for each of {', '.join(self.languages)}"
            raise checks.refusal("consent", sorted(self.consent), allowed)
        for text in self.consent.values():
            check_text("consent", text, 100_000)
            if text.count(COST) != 1:
                allowed = f"a text with {COST} once, where readers put what answers cost"
                raise checks.refusal("consent", f"{text:.80}", allowed)

    def _check_mechanisms(self) -> None:
        names = tuple(question.name for question in self.questions if question.sensitive)
        if tuple(self.mechanisms) != names:
            raise checks.refusal("mechanisms", list(self.mechanisms), f"{list(names)}, in order")
        object.__setattr__(self, "mechanisms", MappingProxyType(dict(self.mechanisms)))
        for question in self.questions:
            if not question.sensitive:
                continue
            mechanism = self.mechanisms[question.name]
            if question.kind == "number":
                Numbers(question.low, question.high, mechanism)
            elif mechanism.k != question.values or mechanism.steps != 1:
                allowed = f"one of {question.values} values"
                raise checks.refusal(f"mechanism of {question.name}", mechanism, allowed)
        informed = dict(self.informed or {})
        random = {name for name, mechanism in self.mechanisms.items() if not mechanism.pure}
        if self.informed is None:
            informed = {
                name: informed_epsilon(self.mechanisms[name], self.colluders, self.delta)
                for name in self.mechanisms
                if name in random
            }
        elif set(informed) != random:
            raise checks.refusal("everything", sorted(informed), f"of {sorted(random)}")
        object.__setattr__(self, "informed", MappingProxyType(informed))

    def _check_closing(self) -> None:
        """Refuse cells that it cannot be closed on."""
        counts = {one.mechanism.announcements for one in self.dealt if one.mechanism.announced}
        if len(counts) > 1:
            allowed = "the same number for all questions with announced sums"
            raise checks.refusal("announcements", sorted(counts), allowed)
        for name in self.cells:
            checks.one_of("cells", name, tuple(covariates_of(self.open)))
        checked_by(self, (*wave_answers(self.wave), *self.cells))

    def planned_cells(self, announcement: int = 1) -> tuple[str, ...]:
        """The open questions on whose crossing sums are announced unless others are chosen.

        At the end those that were planned, in a later wave crossed by who answered the one before;
        afterwards those who answered the next wave too.
        """
        if announcement > 1:
            return ((AFTER,) if self.wave < self.waves else ()) + self.cells
        return (*wave_answers(self.wave), *self.cells) if self.announces else ()

    def _check_servers(self) -> None:
        check_address("collector", self.collector)
        dealing, dealt = self.dealing, self.dealt
        dealing.check(dealt)
        for question in dealt:
            if question.mechanism != dealing.fitted(question.mechanism):
                expected = dealing.fitted(question.mechanism)
                allowed = f"for as many dealers as are named (for_dealers): {expected}"
                raise checks.refusal(f"mechanism of {question.name}", question.mechanism, allowed)
        sizes = {question.mechanism.moments.deck for question in dealt}
        if len(sizes) > 1:
            shown = sorted(map(str, sizes))
            raise checks.refusal("decks", shown, "of the same number of cards for all questions")
        # Whoever answers at one address for two of them has the view `dealer`, not its own.
        owners = {origin(self.collector): "the collector's"}
        for address in dealing.addresses:
            owner = owners.get(origin(address))
            if owner is not None:
                allowed = f"at another host or port than {owner}: one server must not be both"
                raise checks.refusal(dealing.word, address, allowed)
            owners[origin(address)] = f"another {dealing.word}'s"

    def _check_waves(self) -> None:
        if checks.integer("wave", self.wave, 1) > checks.integer("waves", self.waves, 1):
            raise checks.refusal("wave", self.wave, f"at most {self.waves}, the waves of the study")
        if (self.wave > 1) != (self.panel is not None):
            raise checks.refusal("panel", self.panel, "the first wave's hash from wave 2 on")
        if self.waves > 1 and not self.invitations:
            raise ArgumentError(
                "waves must be 1 without invitations: nobody could tell that the same people answer"
            )
        if self.panel is not None and bytes_from_hex(self.panel) is None:
            raise checks.refusal("panel", self.panel, "64 hexadecimal digits")

    def _check_promises(self) -> None:
        held = {view: self.loss(view, self.sensitive) for view in VIEWS}
        promised = dict(held if self.promised is None else self.promised)
        if set(promised) != set(VIEWS):
            raise checks.refusal("guarantees", promised, f"exactly of {sorted(VIEWS)}")
        object.__setattr__(self, "promised", MappingProxyType(promised))
        for view, loss in held.items():
            if loss > self.guarantee(view):
                raise ArgumentError(
                    f"guarantees must not be less than what holds: {view} is ε = {loss}, got "
                    f"{self.guarantee(view)}"
                )
        if self.study is None:
            object.__setattr__(self, "study", first_wave(self.losses, self.waves))
        if len(self.earlier) != self.wave - 1:
            allowed = f"{self.wave - 1} earlier waves in wave {self.wave}"
            raise checks.refusal("study", f"{len(self.earlier)} of them", allowed)
        if self.earlier and self.earlier[0].survey != self.panel:
            raise checks.refusal("study", self.earlier[0].survey, f"from the panel {self.panel} on")
        self.whole_study.check(self.losses)

    @cached_property
    def sensitive(self) -> tuple[SensitiveQuestion, ...]:
        """The perturbed answers, in order: one for each label of "several"."""
        found = []
        for question in self.questions:
            if not question.sensitive:
                continue
            several = question.kind == "several"
            for label in range(len(question.labels)) if several else (None,):
                name = question.name if label is None else f"{question.name}.{label + 1}"
                found.append(self._sensitive(name, question, label))
        return tuple(found)

    @cached_property
    def joint(self) -> Mapping[str, JointAnswers]:
        """The answers that share a coin with others, by their names."""
        found = joint_answers(self, self.sensitive)
        return {one.name: whole for whole in found for one in whole.answers}

    def _sensitive(self, name: str, question: Question, label: int | None) -> SensitiveQuestion:
        assert self.informed is not None  # set above
        mechanism = self.mechanisms[question.name]
        colluders = self.colluders if mechanism.deals else 0
        informed = self.informed.get(question.name)
        delta = 0.0 if mechanism.pure else self.delta
        if informed is None:
            informed = informed_epsilon(mechanism, colluders, self.delta)
        return SensitiveQuestion(name, question, label, mechanism, colluders, informed, delta, self)

    @cached_property
    def by_name(self) -> Mapping[str, SensitiveQuestion]:
        """The perturbed answers by their names."""
        return {question.name: question for question in self.sensitive}

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions whose answers are sent as they are."""
        return tuple(question for question in self.questions if not question.sensitive)

    @cached_property
    def covariates(self) -> Mapping[str, tuple[str, ...]]:
        """The open questions by whose answers results can be grouped, with all their values.

        In a later wave also who answered the one before.
        """
        return MappingProxyType(covariates_of(self.open) | wave_answers(self.wave))

    @cached_property
    def cell_answers(self) -> Mapping[str, tuple[str, ...]]:
        """The same, with who answered the next wave: for sums that are announced after it."""
        after = {AFTER: (YES,)} if self.wave < self.waves else {}
        return MappingProxyType({**self.covariates, **after})

    @cached_property
    def dealt(self) -> tuple[SensitiveQuestion, ...]:
        """The perturbed answers that have cards."""
        return tuple(question for question in self.sensitive if question.deals)

    @property
    def deals(self) -> bool:
        """Whether any answer has cards."""
        return bool(self.dealt)

    @property
    def announces(self) -> bool:
        """Whether dealers announce, at the end, sums of the cards that were used."""
        return self.announcements > 0

    @cached_property
    def announcements(self) -> int:
        """In how many announced sums a card may be; 0 where none are announced."""
        counts = [one.mechanism.announcements for one in self.dealt if one.mechanism.announced]
        return min(counts, default=0)

    def asked(
        self, answers: OpenAnswers, person: bytes | None = None
    ) -> tuple[SensitiveQuestion, ...]:
        """The perturbed answers that somebody with these open answers is asked for.

        Args:
            answers: Open ones.
            person: The name at the collector, from which follows what each person is asked where
                not everybody is asked everything; None: whatever anybody may be asked.
        """
        left_out = frozenset() if person is None else not_asked(self, person)
        return tuple(
            one
            for one in self.sensitive
            if is_asked(one.asked, answers) and one.asked.name not in left_out
        )

    def together_with(self, name: str) -> Together | None:
        """The questions that share a coin with a perturbed answer; None: it has its own."""
        whole = self.joint.get(name)
        return None if whole is None else whole.stated

    def share_asked(self, *names: str) -> float:
        """The share of people who are asked for all these perturbed answers, of those they concern.

        Args:
            *names: of answers; two labels of one question are asked for together.
        """
        share = 1.0
        for stated in self.together:
            wanted = {self.by_name[name].asked.name for name in names} & set(stated.questions)
            for place in range(len(wanted)):  # of the questions left, those that are still asked
                share *= max(0, stated.ask - place) / (len(stated.questions) - place)
        return share

    @property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When it opens and closes."""
        return read_time("opens", self.opens), read_time("closes", self.closes)

    @property
    def results_apart(self) -> int:
        """Reports by which any two results differ that are shown, the final one included."""
        return max(self.results_every, self.min_batch)

    @property
    def smallest_group(self) -> int:
        """Reports in the smallest group that is shown, and cards in the smallest sum."""
        return max(self.min_cell, self.min_batch)

    def fewest_to_show(self, *, final: bool) -> int:
        """Reports that an estimate of everybody needs to be shown."""
        return fewest_to_show(self.min_cell, self.min_batch, final=final)

    def loss(self, view: str, answers: Iterable[SensitiveQuestion]) -> float:
        """ε of some answers together, in a view; a sum that rounding has not made too small.

        Answers are perturbed with coins and cards of their own, so that losses add up, and are
        attained together; those that share a coin count once, with all that it tells.
        """
        return added(one.guarantee(view) for one in counted(answers))

    def delta_of(self, answers: Iterable[SensitiveQuestion]) -> float:
        """The δ of some answers together, in the view "everything"; never too small."""
        return added(one.delta for one in answers)

    def guarantee(self, view: str) -> float:
        """The promised ε of all answers together; in "everything" it holds at `total_delta`."""
        assert self.promised is not None  # set above
        return self.promised[view]

    @property
    def total_delta(self) -> float:
        """The δ of all answers together in the view "everything"."""
        return self.delta_of(self.sensitive)

    @property
    def cost_view(self) -> str:
        """The view to reckon with; the strongest of the answers'."""
        views = [one.cost_view for one in self.sensitive]
        return "dealer" if "dealer" in views else EVERYTHING if EVERYTHING in views else "report"

    @property
    def cost(self) -> float:
        """The ε of all answers in the view to reckon with; it holds at `cost_delta`."""
        return self.guarantee(self.cost_view)

    @property
    def cost_delta(self) -> float:
        """The δ of the cost; 0 where it holds outright."""
        return self.total_delta if self.cost_view == EVERYTHING else 0.0

    @cached_property
    def costs(self) -> CostTable:
        """What one answer, this wave and all waves can tell, and whom."""
        return cost_table(self)

    @property
    def losses(self) -> WaveLoss:
        """What all answers of this wave lose, as promised."""
        return WaveLoss(self.guarantee(EVERYTHING), self.total_delta, self.guarantee("dealer"))

    @property
    def whole_study(self) -> Study:
        """What all waves promise."""
        assert self.study is not None  # set above
        return self.study

    @property
    def earlier(self) -> tuple[EarlierWave, ...]:
        """The waves before this one."""
        return self.whole_study.earlier

    @property
    def as_earlier(self) -> EarlierWave:
        """This wave, as the documents of later ones list it."""
        return EarlierWave(self.hash, self.losses)

    def one_liar(self, verified: bool) -> float:
        """By how many people somebody can move a share of any question; of numbers see the docs."""
        from jrr.planning.liars import most_moved  # devices read surveys without the planner

        return most_moved((one.mechanism for one in self.sensitive if not one.number), verified)

    def check_everything(self) -> None:
        """Refuse a document that promises less than what holds in the view "everything".

        Raises:
            ProtocolError: It promises less for an answer.
        """
        for question in self.dealt:
            question.check_everything()

    def check_after(self, before: "Survey") -> None:
        """Refuse a wave that does not go on from this one before it as that one promised.

        Args:
            before: The wave before.

        Raises:
            ProtocolError: It lists other earlier waves or losses, or promises less protection.
        """
        if self.earlier != (*before.earlier, before.as_earlier):
            raise ProtocolError(
                f"wave {self.wave} must list the waves before it with what they lose, as their "
                f"documents say up to {before.hash[:12]}"
            )
        now, then = self.whole_study.promised, before.whole_study.promised
        if not now.is_within(then):
            raise ProtocolError(
                f"wave {self.wave} must promise no more than what people were told before: {now} "
                f"for the whole study, after {then} in wave {before.wave}"
            )

    @property
    def collector_salt(self) -> str:
        """From which people's names at the collector follow: in all waves of a panel the same."""
        return self.panel or self.hash

    def to_bytes(self) -> bytes:
        """The canonical document."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        return canonical_json(document_of(self))

    @cached_property
    def hash(self) -> str:
        """The name of the survey: hexadecimal SHA-256 of its bytes."""
        return hash_of(self.to_bytes())

    @property
    def link(self) -> str:
        """What contributors are given: the collector's address and the survey's name."""
        return f"{self.collector}{self.path}"

    @property
    def path(self) -> str:
        """Where every server keeps it."""
        return survey_path(self.hash)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Survey":
        """The survey in these bytes.

        Raises:
            DamagedError: It is no survey, one of a later version, or not in canonical form.
        """
        try:
            survey = cls(**read_survey_document(data))
        except JrrError as error:  # it stands in a document: nobody gave it as an argument
            raise DamagedError(str(error)) from None
        if survey.to_bytes() != data:
            raise DamagedError("survey must be in canonical form: sorted keys, no blanks")
        return survey


@lru_cache(64)
def read_survey(data: bytes) -> Survey:
    """As Survey.from_bytes; the same bytes are checked once."""
    return Survey.from_bytes(data)
