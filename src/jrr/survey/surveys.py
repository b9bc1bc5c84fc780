"""A survey: several items asked of the same people, in one document.

Every perturbed answer in it is a campaign: it has a mechanism, a deck and a result of its own
(`SurveyPart`). The survey adds what they share: one document with one hash, one invitation, one
pseudonym per server, one upload, and what all answers of a person cost together.
"""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError
from jrr.reporting.cost_table import CostRow, CostTable, added, cost_row
from jrr.survey.addresses import survey_path
from jrr.survey.campaign import ARRIVAL, MOST, Campaign, hash_of
from jrr.survey.dealer_kinds import Committee, ContributorGroups, DealerKind, NoDealer
from jrr.survey.documents import bytes_from_hex, canonical_json, read_document
from jrr.survey.open_answers import OpenAnswers, covariates_of, is_asked
from jrr.survey.promises import EVERYTHING, tells_cost
from jrr.survey.questionnaire import Item, Questionnaire, Texts
from jrr.survey.study import (
    EarlierWave,
    Study,
    WaveLoss,
    first_wave,
    loss_from_json,
    loss_to_json,
)
from jrr.survey.texts import check_text

VERSION = 1
VIEWS = ("report", "cards", EVERYTHING, "dealer")
_FIELDS = {
    "jrr_survey",
    "questionnaire",
    "parts",
    "guarantees",
    "consent",
    "panel",
    "wave",
    "study",
    "nonce",
}
_SHARED = (  # what all parts must have alike
    "collector",
    "dealing",
    "capacity",
    "opens",
    "closes",
    "invitations",
    "covariates",
    "min_cell",
    "results_every",
    "min_batch",
)


@dataclass(frozen=True)
class SurveyPart:
    """One perturbed answer: to an item, or to one label of "several"."""

    name: str
    item: Item
    label: int | None  # of "several": which one
    campaign: Campaign


def part_names(questionnaire: Questionnaire) -> dict[str, tuple[Item, int | None]]:
    """The perturbed answers of a questionnaire: name -> item, and which of its labels."""
    found: dict[str, tuple[Item, int | None]] = {}
    for item in questionnaire.sensitive:
        if item.kind == "several":
            found |= {f"{item.name}.{at + 1}": (item, at) for at in range(len(item.labels))}
        else:
            found[item.name] = (item, None)
    return found


def part_question(item: Item, label: int | None) -> str:
    """What a part asks, in the first language."""
    text = next(iter(item.text.values()))
    return text if label is None else f"{text} {next(iter(item.labels[label].values()))}"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What is asked, how each answer is perturbed, and what that promises in all.

    Raises:
        ArgumentError: The parts are not those of the questionnaire, differ in what they share, or
            less is promised than what holds.
    """

    questionnaire: Questionnaire
    campaigns: Mapping[str, Campaign]  # by the names of the parts
    consent: Texts  # by language
    consent_version: str = "1"
    panel: str | None = None  # hash of the first wave, whose pseudonyms the collector knows again
    wave: int = 1
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    promised: Mapping[str, float] | None = None  # view -> ε of all parts; computed if not given
    study: Study | None = None  # what all waves promise; None: each what this one does

    def __post_init__(self) -> None:
        names = part_names(self.questionnaire)
        if tuple(self.campaigns) != tuple(names):
            raise checks.refusal("parts", list(self.campaigns), f"{list(names)}, in this order")
        if len({one.hash for one in self.campaigns.values()}) != len(self.campaigns):
            raise ArgumentError("parts must be different campaigns, got one of them twice")
        for name, (item, label) in names.items():
            _check_part(name, item, label, self.campaigns[name], self.first, self.questionnaire)
        self._check_dealers()
        if checks.integer("wave", self.wave, 1) > self.questionnaire.waves:
            allowed = f"at most {self.questionnaire.waves}, the waves of its questionnaire"
            raise checks.refusal("wave", self.wave, allowed)
        if (self.wave > 1) != (self.panel is not None):
            raise checks.refusal("panel", self.panel, "the first wave's hash from wave 2 on")
        if self.questionnaire.waves > 1 and not self.invitations:
            raise ArgumentError(
                "waves must be 1 without invitations: nobody could tell that the same people answer"
            )
        if self.panel is not None and bytes_from_hex(self.panel) is None:
            raise checks.refusal("panel", self.panel, "64 hexadecimal digits")
        check_text("nonce", self.nonce, 100)
        check_text("consent_version", self.consent_version, 100)
        held = {view: self.loss(view, self.campaigns) for view in VIEWS}
        if self.promised is None:
            object.__setattr__(self, "promised", held)
        elif set(self.promised) != set(VIEWS):
            raise checks.refusal("guarantees", dict(self.promised), f"exactly of {sorted(VIEWS)}")
        for view, loss in held.items():
            if loss > self.guarantee(view):
                raise ArgumentError(
                    f"guarantees must not be less than what holds: {view} is ε = {loss}, got "
                    f"{self.guarantee(view)}"
                )
        self._check_study()
        self._check_consent()

    def _check_study(self) -> None:
        if self.study is None:
            study = first_wave(self.losses, self.questionnaire.waves)
            object.__setattr__(self, "study", study)
        if len(self.earlier) != self.wave - 1:
            allowed = f"{self.wave - 1} earlier waves in wave {self.wave}"
            raise checks.refusal("study", f"{len(self.earlier)} of them", allowed)
        if self.earlier and self.earlier[0].survey != self.panel:
            raise checks.refusal("study", self.earlier[0].survey, f"from the panel {self.panel} on")
        self.whole_study.check(self.losses)

    def _check_dealers(self) -> None:
        kinds = {one.dealer for one in self.campaigns.values() if one.deals}
        if len(kinds) > 1:
            raise ArgumentError("parts must all be dealt by the same dealers")
        if any(isinstance(kind, Committee | ContributorGroups) for kind in kinds):
            raise ArgumentError(
                "dealer must be one server or several: committees and groups deal one deck at a "
                "time to people who meet for it, and a survey has a deck for each answer"
            )

    def _check_consent(self) -> None:
        if set(self.consent) != set(self.questionnaire.languages):
            allowed = f"a text for each of {', '.join(self.questionnaire.languages)}"
            raise checks.refusal("consent", sorted(self.consent), allowed)
        for text in self.consent.values():
            check_text("consent", text, 100_000, empty=True)
            for told in (self.costs.wave.collector, self.costs.study.collector):
                if not tells_cost(text, told.epsilon, told.delta):
                    raise ArgumentError(
                        "consent must name no ε, or among others what all answers cost, "
                        f"{show_guarantee(told.epsilon, told.delta)}, got a text with other figures"
                    )

    @property
    def first(self) -> Campaign:
        """Any of the parts, for what all of them share."""
        return next(iter(self.campaigns.values()))

    @cached_property
    def parts(self) -> tuple[SurveyPart, ...]:
        """The perturbed answers, in order."""
        return tuple(
            SurveyPart(name, item, label, self.campaigns[name])
            for name, (item, label) in part_names(self.questionnaire).items()
        )

    def asked(self, answers: OpenAnswers) -> tuple[SurveyPart, ...]:
        """The parts that somebody with these open answers is asked."""
        return tuple(part for part in self.parts if is_asked(part.item, answers))

    @property
    def collector(self) -> str:
        """Its address."""
        return self.first.collector

    @property
    def dealer(self) -> DealerKind:
        """Who deals the cards of all parts that have some."""
        return next((one.dealer for one in self.campaigns.values() if one.deals), NoDealer())

    @property
    def deals(self) -> bool:
        """Whether any part has cards."""
        return any(one.deals for one in self.campaigns.values())

    @property
    def invitations(self) -> bool:
        """Whether only invited people may answer."""
        return self.first.invitations

    def loss(self, view: str, names: Iterable[str]) -> float:
        """ε of some parts together, in a view; a sum that rounding has not made too small.

        Parts are perturbed with coins and cards of their own, so that losses add up, and are
        attained together.
        """
        return added(self.campaigns[name].guarantee(view) for name in names)

    def guarantee(self, view: str) -> float:
        """The promised ε of all parts together; in the view "everything" it holds at `delta`."""
        assert self.promised is not None  # set above
        return self.promised[view]

    @property
    def delta(self) -> float:
        """The δ of the view "everything": those of all parts together."""
        return self.delta_of(self.campaigns)

    def delta_of(self, names: Iterable[str]) -> float:
        """The δ of some parts together, in the view "everything"; never too small."""
        found = [self.campaigns[name] for name in names]
        return added(one.delta for one in found if not one.mechanism.pure)

    @property
    def cost_view(self) -> str:
        """The view to reckon with; the strongest of the parts'."""
        views = [one.cost_view for one in self.campaigns.values()]
        return "dealer" if "dealer" in views else EVERYTHING if EVERYTHING in views else "report"

    @property
    def cost(self) -> float:
        """The ε of all parts in the view to reckon with; it holds at `cost_delta`."""
        return self.guarantee(self.cost_view)

    @property
    def cost_delta(self) -> float:
        """The δ of the cost; 0 where it holds outright."""
        return self.delta if self.cost_view == EVERYTHING else 0.0

    @property
    def losses(self) -> WaveLoss:
        """What all answers of this wave lose, as promised."""
        return WaveLoss(self.guarantee(EVERYTHING), self.delta, self.guarantee("dealer"))

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

    @cached_property
    def costs(self) -> CostTable:
        """What one answer, this wave and all waves can tell, and whom."""
        names: dict[str, list[str]] = {}  # of the parts of every item
        for part in self.parts:
            names.setdefault(part.item.name, []).append(part.name)
        view, groups = self.cost_view, list(names.values())
        answer = WaveLoss(
            max(self.loss(EVERYTHING, parts) for parts in groups),
            max(map(self.delta_of, groups)),
            max(self.loss("dealer", parts) for parts in groups),
        )
        dealt_before = any(one.loss.has_cards for one in self.earlier)
        study_view = EVERYTHING if view == "report" and dealt_before else view
        return CostTable(
            answer=_cost_row(answer, view, self.deals),
            wave=_cost_row(self.losses, view, self.deals),
            study=_cost_row(self.whole_study.promised, study_view, self.deals or dealt_before),
            questions=len(groups),
            wave_number=self.wave,
            waves=self.questionnaire.waves,
        )

    @property
    def cost_line(self) -> str:
        """What all answers cost together and against whom, in one line."""
        strongest = max(self.campaigns.values(), key=lambda one: VIEWS.index(one.cost_view))
        return f"{show_guarantee(self.cost, self.cost_delta)} against {strongest.against}"

    def check_everything(self) -> None:
        """As `Campaign.check_everything`, of every part.

        Raises:
            ProtocolError: A part promises less than what holds.
        """
        for name, one in self.campaigns.items():
            try:
                one.check_everything()
            except ProtocolError as error:
                raise ProtocolError(f"item {name}: {error}") from None

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
        assert self.promised is not None  # set above
        return canonical_json(
            {
                "jrr_survey": VERSION,
                "questionnaire": self.questionnaire.to_dict(),
                "parts": [
                    {"name": name, "campaign": json.loads(one.to_bytes())}
                    for name, one in self.campaigns.items()
                ],
                "guarantees": {view: loss_to_json(loss) for view, loss in self.promised.items()},
                "consent": {"texts": dict(self.consent), "version": self.consent_version},
                "panel": self.panel,
                "wave": self.wave,
                "study": self.whole_study.to_dict(),
                "nonce": self.nonce,
            }
        )

    @cached_property
    def hash(self) -> str:
        """The name of the survey: hexadecimal SHA-256 of its bytes."""
        return hash_of(self.to_bytes())

    @property
    def link(self) -> str:
        """What contributors are given: the collector's address and the survey's name."""
        return f"{self.collector}{survey_path(self.hash)}"

    @classmethod
    def from_bytes(cls, data: bytes) -> "Survey":
        """The survey in these bytes.

        Raises:
            DamagedError: It is no survey, one of a later version, or not in canonical form.
        """
        document = read_document("survey", data, MOST)
        try:
            survey = cls._from_document(document)
        except JrrError as error:  # it stands in a document: nobody gave it as an argument
            raise DamagedError(str(error)) from None
        if survey.to_bytes() != data:
            raise DamagedError("survey must be in canonical form: sorted keys, no blanks")
        return survey

    @classmethod
    def _from_document(cls, document: object) -> "Survey":
        if not isinstance(document, dict):
            raise checks.refusal("survey", type(document).__name__, "a JSON object")
        version = checks.integer("jrr_survey", document.get("jrr_survey"), 1)
        if version > VERSION:
            raise ArgumentError(f"survey must be of version {VERSION} or older, got {version}")
        if set(document) != _FIELDS:
            raise checks.refusal("survey", sorted(document), f"exactly of {sorted(_FIELDS)}")
        consent = document["consent"]
        if not isinstance(consent, dict) or set(consent) != {"texts", "version"}:
            raise checks.refusal("consent", consent, "an object of texts and version")
        if not isinstance(consent["texts"], dict) or not isinstance(document["guarantees"], dict):
            raise checks.refusal("consent and guarantees", "another", "objects")
        return cls(
            questionnaire=Questionnaire.from_dict(document["questionnaire"]),
            campaigns=_read_parts(document["parts"]),
            consent=consent["texts"],
            consent_version=consent["version"],
            panel=document["panel"],
            wave=document["wave"],
            nonce=document["nonce"],
            promised={
                view: loss_from_json(f"guarantees {view}", loss)
                for view, loss in document["guarantees"].items()
            },
            study=Study.from_dict(document["study"]),
        )


@lru_cache(16)
def read_survey(data: bytes) -> Survey:
    """As Survey.from_bytes; the same bytes are checked once."""
    return Survey.from_bytes(data)


def is_survey(data: bytes) -> bool:
    """Whether a document is a survey's, and not a single campaign's."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # whoever reads it as a campaign says what is wrong
        return False
    return isinstance(document, dict) and "jrr_survey" in document


def _check_part(
    name: str,
    item: Item,
    label: int | None,
    campaign: Campaign,
    first: Campaign,
    questionnaire: Questionnaire,
) -> None:
    """Refuse a part that asks something else than its item, or goes another way than the rest."""
    if campaign.question != part_question(item, label):
        raise checks.refusal(f"question of {name}", campaign.question, "the text of its item")
    number = (item.low, item.high) if item.kind == "number" else None
    if campaign.number != number:
        raise checks.refusal(f"number of {name}", campaign.number, f"{number}, as its item says")
    if number is None and campaign.labels != item.answers:
        raise checks.refusal(f"labels of {name}", campaign.labels, "the answers of its item")
    if dict(campaign.covariates) != covariates_of(questionnaire):
        raise checks.refusal(f"covariates of {name}", dict(campaign.covariates), "the open items")
    if campaign.by is not None or campaign.contact is not None:
        raise ArgumentError(f"by and contact of {name} must be left out: the survey says them")
    if campaign.dealing != ARRIVAL:
        raise ArgumentError(f"part {name} must deal on arrival")
    for shared in _SHARED:
        if getattr(campaign, shared) != getattr(first, shared):
            raise ArgumentError(f"parts must have the same {shared}, got another for {name}")


def _read_parts(document: object) -> dict[str, Campaign]:
    if not isinstance(document, list):
        raise checks.refusal("parts", type(document).__name__, "a list")
    found: dict[str, Campaign] = {}
    for entry in document:
        if not isinstance(entry, dict) or set(entry) != {"name", "campaign"}:
            raise ArgumentError("parts must each be of name and campaign")
        if not isinstance(entry["campaign"], dict):
            raise ArgumentError("campaign of a part must be an object")
        name = str(entry["name"])
        if name in found:
            raise ArgumentError(f"parts must have different names, got {name!r:.80} twice")
        found[name] = Campaign.from_bytes(canonical_json(entry["campaign"]))
    if not found:
        raise ArgumentError("parts must be at least one")
    return found


def _cost_row(loss: WaveLoss, view: str, deals: bool) -> CostRow:
    if not deals:  # nobody else's reports or cards matter
        return cost_row(loss.everything, 0.0, view, None)
    if view != EVERYTHING:  # the collector, or a stranger, may know the card
        return cost_row(loss.dealer, 0.0, view, loss.dealer)
    return cost_row(loss.everything, loss.delta, view, loss.dealer)
