"""What the collector does to its database; each job checks first and writes last."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.estimation.estimates import Estimate
from jrr.estimation.tally import Tally
from jrr.servers.collector.ending import EndWish, close_announced, kept_grouping, prospect
from jrr.servers.collector.intake import NEARLY_FULL, IncomingReport, Intake
from jrr.servers.collector.results import check_batch, results_of
from jrr.servers.collector.store import CollectorCampaign, CollectorStore, FixedResults
from jrr.servers.common.batch import in_groups
from jrr.servers.common.jobs import CampaignJobs, check_state, check_whole
from jrr.servers.common.problems import Problem, gone, wrong_state
from jrr.servers.common.store import HeldCampaign
from jrr.survey.campaign import Campaign
from jrr.survey.grouping import EVERYBODY, CardGrouping
from jrr.survey.messages import read_report
from jrr.survey.naming import Naming
from jrr.survey.problems import RESULTS_WAIT
from jrr.survey.serials import serial_from_hex
from jrr.survey.states import CLOSED, NEW, OPEN, Act, State
from jrr.survey.told import ToldSums


@dataclass(frozen=True, kw_only=True)
class EstimateWish:
    """What the operator wants to know."""

    level: float = 0.95  # of the confidence intervals
    by: str | None = None  # a covariate: one estimate per group
    simultaneous: bool = False  # whether the intervals of all answers hold at once
    population: str = "respondents"  # whom they speak of
    population_size: int | None = None  # whom the respondents were drawn from


class CollectorJobs(CampaignJobs[CollectorStore]):
    """The jobs."""

    title = "jrr collector"
    store = CollectorStore

    def new_columns(self, campaign: Campaign) -> dict[str, Any]:
        """How many decks were dealt from is told at the end."""
        return {"decks": None, "sums": None, "grouping": None}

    def told_state(self, held: HeldCampaign) -> State:
        """As somebody finds it who wants to answer: by the campaign's own times too."""
        opens, closes = held.campaign.times
        now = self.clock()
        if held.state is not OPEN:
            return held.state
        if closes is not None and now >= closes:
            return CLOSED
        return NEW if opens is not None and now < opens else OPEN

    def read(self, held: CollectorCampaign, body: bytes) -> IncomingReport:
        """A report that fits the campaign, before the database is asked anything."""
        check_whole(held, None)
        check_state(Act.REPORT_AGAIN, held)
        report = read_report(held.campaign, held.mechanism, body)
        return IncomingReport(held.name, held.n, held.campaign.capacity, report)

    def receive(self, connection: Connection, name: str, body: bytes) -> bool:
        """Take one report; False where the same one is here already."""
        incoming = self.read(CollectorStore(connection).find(name), body)
        (outcome,) = self.receive_all(connection, [incoming])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def receive_all(
        self, connection: Connection, incoming: Sequence[IncomingReport]
    ) -> list[bool | Problem]:
        """Take reports; of each, False where the same one is here already, or why it is refused."""
        receive = partial(self._receive_some, CollectorStore(connection))
        return in_groups(incoming, lambda one: one.campaign, receive)

    def _receive_some(
        self, store: CollectorStore, name: str, incoming: Sequence[IncomingReport]
    ) -> list[bool | Problem]:
        """Reports of one campaign: everything is looked up at once, then written at once."""
        # Several processes may take reports at the same time, until few are still to come.
        near = incoming[0].most - len(incoming) - NEARLY_FULL
        almost = store.has_processes and store.count_of_arrivals(name) >= near
        held = store.find(name, lock=almost, share=True)
        check_state(Act.REPORT_AGAIN, held)
        if held.sums is not None:  # serial numbers are forgotten by then
            incoming = [one.without_serials() for one in incoming]
        reports = [one.report for one in incoming]
        intake = Intake(
            held=held,
            invited=store.invitations(held.survey or name, [report.name for report in reports])
            if held.campaign.invitations
            else None,
            kept=store.stored_reports(name, reports),
            owners=store.serial_owners([(name, report) for report in reports])[name],
            now=self.clock(),
        )
        outcomes: list[bool | Problem] = []
        for one in incoming:
            try:
                outcomes.append(intake.take(one))
            except Problem as problem:
                outcomes.append(problem)
        store.add_reports(name, intake.new)
        store.count_arrivals(held, len(intake.new))
        return outcomes

    def open_alone(self, connection: Connection, name: str, n: object) -> State:
        """Open a campaign that is no part of a survey: those open together, once for each wave."""
        if CollectorStore(connection).find(name).survey is not None:
            raise Problem(409, "part-of-survey", "the question is part of a survey: open that")
        return self.open(connection, name, n)

    def open(self, connection: Connection, name: str, n: object) -> State:
        """Begin to take reports; n: how many people were dealt cards, after enrolment."""
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        check_state(Act.OPEN, held)
        if held.state == OPEN:
            if n != held.n:
                raise Problem(409, "conflict", f"the campaign is open for n={held.n}")
            return OPEN
        if held.campaign.enrols:
            held.campaign.for_people(checks.integer("n", n, 2))
        elif n is not None:
            raise checks.refusal("n", n, "null: only enrolment fixes a number of people")
        store.move(held, OPEN, n=n)
        return OPEN

    def close(
        self,
        connection: Connection,
        name: str,
        decks: object,
        undealt: object = None,
        wish: EndWish | None = None,
    ) -> dict[str, Any]:
        """Take no more reports.

        decks: From how many was dealt, if that is known. undealt: What the dealer told of the
        cards of a closed deck that nobody fetched. wish: Where card sums are announced.
        """
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        discarded = 0
        if held.campaign.announces:
            discarded = close_announced(store, held, wish or EndWish())
        elif held.state != CLOSED:
            told = None if decks is None else checks.integer("decks", decks, 1, 10**12)
            if undealt is not None:
                document = {"announced": [], "undealt": undealt}
                sums = ToldSums.from_document(held.campaign, document)
                store.keep_sums(name, sums.to_document())
            store.move(held, CLOSED, decks=told)
        reply = {"state": CLOSED, "reports": store.count(store.reports, name)} | _settled(held)
        return reply | ({"discarded": discarded} if discarded else {})

    def prospect(self, connection: Connection, name: str, wish: EndWish) -> dict[str, Any]:
        """What closing would do, where card sums are announced; nothing is changed."""
        store = CollectorStore(connection)
        held = store.find(name)
        self._check_announces(held)
        return prospect(store, held, wish)

    def serials(
        self, connection: Connection, name: str, dealer: int, ahead: bool = False
    ) -> dict[str, Any]:
        """The reports that are here, as they are named to one dealer after the end.

        ahead: Before the end, in no groups: to ask the dealer whether it knows them.
        """
        store = CollectorStore(connection)
        held = store.find(name)
        if ahead:
            self._check_announces(held)
        else:
            self._check_settling(held)
        checks.integer("dealer", dealer, 0, len(held.campaign.dealers) - 1)
        grouping = CardGrouping() if ahead else kept_grouping(held)
        return _naming(store, held, dealer, grouping).to_document()

    def discard(self, connection: Connection, name: str, serials: object) -> int:
        """Delete reports whose serial numbers their dealer does not know; how many."""
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        self._check_settling(held)
        if not isinstance(serials, list):
            raise DamagedError("serials must be a list")
        return store.discard(name, [serial_from_hex(serial) for serial in serials])

    def settle(self, connection: Connection, name: str, document: object) -> dict[str, Any]:
        """Keep what dealers told of their cards: from now on there is a result."""
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        sums = ToldSums.from_document(held.campaign, document)
        if held.sums is not None:
            if _told(held) != sums:
                raise Problem(409, "announced", "other sums are here already")
            return {"state": CLOSED}
        self._check_settling(held)
        for dealer, told in enumerate(sums.announced):
            here = _naming(store, held, dealer, told.grouping).serials
            counts = {group: len(names) for group, names in here.items()}
            if counts != {group: one.cards for group, one in told.sums.items()}:
                raise Problem(409, "conflict", "the sum is of other reports than are here")
        store.keep_sums(name, sums.to_document())
        return {"state": CLOSED}

    def _check_settling(self, held: CollectorCampaign) -> None:
        """Refuse to name reports, or to take sums, but between the end and the result."""
        self._check_announces(held)
        if held.state != CLOSED:
            raise wrong_state("the campaign must be closed first: more reports may come")
        if held.sums is not None:
            raise gone("the sum is here, and the serial numbers are forgotten")

    @staticmethod
    def _check_announces(held: CollectorCampaign) -> None:
        if not held.campaign.announces:
            raise wrong_state("the campaign's card sums are not announced")

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store = CollectorStore(connection)
        held = store.find(name)
        # Arrivals are counted as they come; at the end reports may be discarded.
        reports = held.arrivals if held.state != CLOSED else store.count(store.reports, name)
        return {
            "campaign": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "reports": reports,
        } | _settled(held)

    def fix_results(self, connection: Connection, name: str) -> None:
        """Where results must be some reports apart, go on to the next one if it is time.

        A result is fixed first, and shown when `results_apart` more reports have come. So any two
        results that are shown are that far apart, the final one of all reports included.
        """
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        every = held.campaign.results_apart
        if every == 1 or held.state == CLOSED or held.campaign.announces:
            return
        reports = store.count(store.reports, name)
        fixed = store.fixed_results(name)
        if reports - (0 if fixed is None else fixed.next.n) < every:
            return
        tallies = self._tallies(store, held, None)
        shown = None if fixed is None else fixed.next
        now = FixedResults(shown=shown, next=tallies[EVERYBODY])
        store.fix_results(name, now)

    def final_estimate(
        self,
        store: CollectorStore,
        held: CollectorCampaign,
        *,
        also_in: str | None = None,
        population: str = "respondents",
    ) -> Estimate:
        """The final estimate of everybody; also_in: of those who answered this campaign too."""
        tallies = self._tallies(store, held, None, also_in=also_in)
        if not tallies:
            raise Problem(409, "no-reports", "no report has been received")
        wish = EstimateWish(population=population)
        whole, _ = self._without_masks(held, tallies, wish)
        mechanism = held.mechanism
        used = max(mechanism.fewest_decks(whole.n_carded + whole.known.undealt), held.decks)
        return mechanism.estimate(whole, used, population=population)

    def _tallies(
        self,
        store: CollectorStore,
        held: CollectorCampaign,
        by: str | None,
        *,
        also_in: str | None = None,
    ) -> dict[str, Tally]:
        """Group -> counted reports; also_in: of those who answered this campaign too."""
        mechanism = held.mechanism
        tallies: dict[str, Tally] = {}
        for block in store.report_blocks(held.name, mechanism, also_in=also_in):
            rows_by_group: dict[str, list[int]] = defaultdict(list)
            for at, text in enumerate(block.covariates):
                rows_by_group[EVERYBODY if by is None else json.loads(text)[by]].append(at)
            for group, rows in rows_by_group.items():
                tally = mechanism.tally(block.reports[rows], block.carded[rows])
                tallies[group] = tallies[group] + tally if group in tallies else tally
        return tallies

    def _shown(
        self, store: CollectorStore, held: CollectorCampaign, wish: EstimateWish
    ) -> dict[str, Tally]:
        """What may be shown now where results must be some reports apart."""
        every = held.campaign.results_apart
        if wish.by is not None:
            # Groups are smaller: one of them may differ by a single report.
            raise Problem(
                409, RESULTS_WAIT, "results by group are shown when the campaign is closed"
            )
        fixed = store.fixed_results(held.name)
        if fixed is not None and fixed.shown is not None:
            return {EVERYBODY: fixed.shown}
        coming = f"the first {every}" if fixed is None else f"{fixed.next.n} reports"
        raise Problem(
            409,
            RESULTS_WAIT,
            f"results are shown {every} reports apart: that of {coming} is shown when {every} "
            "more have come",
        )

    def estimate(self, connection: Connection, name: str, wish: EstimateWish) -> dict[str, Any]:
        """The estimate so far, or the final one."""
        store = CollectorStore(connection)
        held = store.find(name)
        campaign, mechanism, by = held.campaign, held.mechanism, wish.by
        if by is not None:
            checks.one_of("by", by, tuple(campaign.covariates))
        if campaign.announces and held.state != CLOSED:
            raise Problem(
                409,
                RESULTS_WAIT,
                "the cards in the reports hide everything until the dealer announces their sum, "
                "when the campaign is closed",
            )
        if campaign.results_apart > 1 and held.state != CLOSED:
            tallies = self._shown(store, held, wish)
        else:
            tallies = self._tallies(store, held, by)
        if not tallies:
            raise Problem(409, "no-reports", "no report has been received yet")
        whole, settled = self._without_masks(held, tallies, wish)
        results = results_of(
            mechanism,
            whole,
            settled,
            decks=held.decks,
            level=wish.level,
            simultaneous=wish.simultaneous,
            population=wish.population,
            population_size=wish.population_size,
            grouped=by is not None,
            min_cell=campaign.min_cell,
            min_batch=campaign.min_batch,
            final=held.state == CLOSED,
            number=campaign.number,
        )
        return results | {
            "campaign": name,
            "state": held.state,
            "final": held.state == CLOSED,
            "question": campaign.question,
            "labels": list(campaign.labels),
            "protected_against_repeats": campaign.invitations,
            "mechanism": mechanism.to_dict(),
            **({} if held.sums is None else {"sums": held.sums}),  # so that anybody can recompute
        }

    def _without_masks(
        self, held: CollectorCampaign, tallies: Mapping[str, Tally], wish: EstimateWish
    ) -> tuple[Tally, Mapping[str, Tally]]:
        """All reports and those of each group, as far as dealers have told of their cards."""
        told = _told(held).by_group
        whole, settled = told.settled(held.mechanism, tallies, wish.by)
        if held.campaign.announces and whole.n_carded and not whole.known.announcements:
            raise Problem(
                409,
                RESULTS_WAIT,
                "the dealer's sum of the cards is not here: close the campaign again, at both "
                "servers, to carry it",
            )
        return whole, settled

    def export(self, connection: Connection, name: str, kind: str) -> bytes:
        """All reports as a file; kind: parquet, csv, or csv.json for its header."""
        from jrr.servers.collector.export import export_folder, write_reports  # needs pyarrow

        store = CollectorStore(connection)
        held = store.find(name)
        check_batch(held, store.count(store.reports, name))
        blocks = store.report_blocks(name, held.mechanism)
        with export_folder() as folder:
            path = folder / f"reports.{kind.removesuffix('.json')}"
            told = None if held.sums is None else _told(held).by_group
            write_reports(path, held, blocks, told)
            header = path.with_name(f"{path.name}.json")
            return (header if kind == "csv.json" else path).read_bytes()


def _settled(held: CollectorCampaign) -> dict[str, bool]:
    """Whether sums are here, where they are announced."""
    return {"settled": held.sums is not None} if held.campaign.announces else {}


def _told(held: CollectorCampaign) -> ToldSums:
    """What dealers have told of their cards so far."""
    return ToldSums() if held.sums is None else ToldSums.from_document(held.campaign, held.sums)


def _naming(
    store: CollectorStore, held: CollectorCampaign, dealer: int, grouping: CardGrouping
) -> Naming:
    """The reports that are here, by the serial numbers of one dealer."""
    found: dict[str, list[bytes]] = defaultdict(list)
    by = grouping.by
    for serial, covariates in store.named(held.name, dealer):
        value = EVERYBODY if by is None else json.loads(covariates)[by]
        found[grouping.group_of(value)].append(serial)
    named = {group: tuple(found[group]) for group in sorted(found)}
    return Naming(campaign=held.name, by=by, merged=grouping.merged, serials=named)
