"""Longitudinal: the same people report in every round, such as every day for a year.

With fresh coins alone the losses of all rounds add up. A device may instead remember: once for each
value it draws a permanent response by randomized response, and in every round it perturbs that
afresh. However often it reports, the value is then protected by the permanent response. What is
remembered does not protect the times at which the value changes: `epsilon` has a figure for each
of the secrets (docs/theory-uses.md, section 2).
"""

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally, WeightedTally
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng, checked_mechanism
from jrr.mechanisms.registry import from_dict
from jrr.mechanisms.rr import RR
from jrr.privacy import memoised
from jrr.privacy.composition import MOST_ROUNDS, composed_epsilon
from jrr.telemetry.asked import named_fields
from jrr.telemetry.series import PairedChange, Series

Secret = Literal["value", "values", "history", "round"]
SECRETS: tuple[Secret, ...] = ("value", "values", "history", "round")
VIEWS = ("report", "cards", "everything", "dealer")
_FAR = 1000  # rounds up to which they are split exactly among several values
_MOST_VALUES = 256  # a device draws a response for every value at the beginning


@checks.init_checked
@dataclass(frozen=True)
class Longitudinal:
    """Rounds of reports by the same people.

    Attributes:
        fresh: the mechanism of a round: coins, and cards if it deals any, are fresh every time.
            It counts reports (`fresh.tally`), but where devices remember it refuses to estimate:
            its shares would be those of remembered responses. What is read back from
            `fresh.to_dict()` knows nothing of that and estimates, wrongly: keep the document of
            the whole (`Longitudinal.to_dict`).
        permanent: randomized response over the same values, drawn once for each value and
            remembered by the device; None: nothing is remembered.

    Raises:
        ArgumentError: where the two have different values, or more than 256.

    Example:
        >>> import jrr
        >>> daily = Longitudinal(jrr.RR(epsilon=1.0), jrr.RR(epsilon=2.0))
        >>> memory = daily.remember_one()  # once, on the device, which keeps it
        >>> report = daily.respond_one(1, memory)  # every day
        >>> round(daily.epsilon("everything", rounds=365), 3)
        2.0
        >>> round(Longitudinal(jrr.RR(epsilon=1.0)).epsilon("everything", rounds=365))
        365
    """

    fresh: Mechanism
    permanent: RR | None = None

    def __post_init__(self) -> None:
        checked_mechanism(self.fresh)
        if self.permanent is None:
            return
        if not isinstance(self.permanent, RR):
            raise checks.refusal("permanent", self.permanent, "randomized response (RR), or None")
        if self.permanent.k != self.fresh.k:
            allowed = f"over the {self.fresh.k} values of fresh"
            raise checks.refusal("permanent", self.permanent, allowed)
        if self.fresh.k > _MOST_VALUES:
            raise checks.refusal("fresh", self.fresh, f"of at most {_MOST_VALUES} values")
        # A copy that says so: its estimates are of permanent responses, not of values.
        fresh = copy.copy(self.fresh)
        object.__setattr__(fresh, "behind_memory", True)
        object.__setattr__(self, "fresh", fresh)

    @cached_property
    def _of_responses(self) -> Mechanism:
        """`fresh`, taken as a mechanism whose values are permanent responses: it estimates."""
        plain = copy.copy(self.fresh)
        object.__setattr__(plain, "behind_memory", False)
        return plain

    @property
    def behind_memory(self) -> bool:
        """Whether reports are of what devices remember, which files do not describe."""
        return self.permanent is not None

    @property
    def deals(self) -> bool:
        """Whether cards are dealt in every round."""
        return self.fresh.deals

    def fewest_decks(self, cards: int) -> int:
        """How many decks so many cards come from at least, as `fresh` says it.

        Args:
            cards: how many.
        """
        return self.fresh.fewest_decks(cards)

    @property
    def k(self) -> int:
        """Possible values."""
        return self.fresh.k

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        permanent = None if self.permanent is None else self.permanent.to_dict()
        return {
            "mechanism": "Longitudinal",
            "fresh": self.fresh.to_dict(),
            "permanent": permanent,
        }

    @classmethod
    def from_dict(cls, document: object) -> "Longitudinal":
        """What `to_dict` wrote.

        Args:
            document: what `to_dict` returned.
        """
        fields = named_fields(cls, document, {"fresh", "permanent"})
        permanent = fields["permanent"]
        made = None if permanent is None else from_dict(permanent)
        return cls(from_dict(fields["fresh"]), made)  # type: ignore[arg-type] # checked there

    # -- devices ----------------------------------------------------------------------------

    def remember(self, n: int, rng: Rng = None) -> Ints:
        """The permanent responses of n devices: row i holds one for every value.

        All are drawn at the beginning, so that what a device stores does not say which values it
        has held. Each row is that device's secret.

        Args:
            n: devices.
            rng: where random words come from; None: the operating system.
        """
        n = checks.integer("n", n, 0)
        source = randomness.source(rng)
        if self.permanent is None:
            return np.broadcast_to(np.arange(self.k), (n, self.k))
        rr = self.permanent
        return np.column_stack([rr.respond(np.full(n, v), None, source) for v in range(self.k)])

    def remember_one(self, rng: Rng = None) -> tuple[int, ...]:
        """The permanent responses of one device, to be kept on it: one for every value.

        Args:
            rng: where random words come from; None: the operating system.
        """
        source = randomness.source(rng)
        if self.permanent is None:
            return tuple(range(self.k))
        return tuple(self.permanent.respond_one(v, None, source) for v in range(self.k))

    def deal(self, rng: Rng = None) -> Any:
        """Cards for one round; None where the mechanism deals none. Never use them again.

        Args:
            rng: where random words come from; None: the operating system.
        """
        return self.fresh.deal(rng)

    def respond(
        self,
        values: ArrayLike,
        memory: ArrayLike,
        cards: ArrayLike | None = None,
        rng: Rng = None,
    ) -> Reports:
        """The reports of one round.

        Args:
            values: the true values of this round.
            memory: what `remember` made, one row per device.
            cards: this round's cards, one per device.
            rng: where randomness comes from; None: the system's cryptographic randomness.
        """
        checked = checks.symbols("values", values, self.k)
        kept = np.asarray(memory)
        if kept.shape != (len(checked), self.k):
            raise ArgumentError(
                f"memory must have a row of {self.k} responses for each of the {len(checked)} "
                f"values, got shape {kept.shape}"
            )
        return self.fresh.respond(kept[np.arange(len(checked)), checked], cards, rng)

    def respond_one(
        self, value: int, memory: Sequence[int], card: Any = None, rng: Rng = None
    ) -> Any:
        """One device's report of one round.

        Args:
            value: the true one of this round.
            memory: what `remember_one` returned.
            card: the card of this round; None without one.
            rng: where random words come from; None: the operating system.
        """
        value = checks.symbol("value", value, self.k)
        kept: object = memory  # what a device's storage gave, perhaps nothing
        if not isinstance(kept, Sequence | np.ndarray) or len(kept) != self.k:
            raise checks.refusal("memory", memory, f"{self.k} responses, one for every value")
        return self.fresh.respond_one(memory[value], card, rng)

    def report_to_json(self, report: Any, carded: bool | None = None) -> Any:
        """One report as a JSON value, as that of `fresh`.

        Args:
            report: as `respond_one` makes it.
            carded: whether it was made with a card; None: as the mechanism says.
        """
        return self.fresh.report_to_json(report, carded)

    def report_from_json(self, document: object) -> Any:
        """The report that `report_to_json` wrote; anything else is refused.

        Args:
            document: a JSON value.
        """
        return self.fresh.report_from_json(document)

    def reports_to_json(self, reports: Any, carded: ArrayLike | bool | None = None) -> list[Any]:
        """All reports of a round as JSON values.

        Args:
            reports: one per person.
            carded: who had a card; None: as the mechanism says.
        """
        return self.fresh.reports_to_json(reports, carded)

    def reports_from_json(self, documents: list[Any]) -> list[Any]:
        """All reports that `reports_to_json` wrote, as `estimate` takes them.

        Args:
            documents: JSON values.
        """
        return self.fresh.reports_from_json(documents)

    # -- collector --------------------------------------------------------------------------

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports of one round."""
        return self._through(self.fresh.moments)

    def estimate(
        self, reports: ArrayLike | Tally | WeightedTally, decks: int | None = None, **more: Any
    ) -> Estimate:
        """The shares of one round; arguments as for `Mechanism.estimate` of `fresh`.

        Args:
            reports: of the round, or their tally.
            decks: that were dealt; None: as few as the cards need.
            more: other arguments of `Mechanism.estimate`.
        """
        told = self._of_responses.estimate(reports, decks, **more)
        if self.permanent is None:
            return told
        return Estimate([self._behind(stratum) for stratum in told.strata], told.sampling)

    def series(self, rounds: Iterable[ArrayLike | Tally | WeightedTally], **more: Any) -> Series:
        """The shares of all rounds, each given as its reports or their tally.

        Args:
            rounds: in order.
            more: other arguments of `Mechanism.estimate`.
        """
        return Series([self.estimate(reports, **more) for reports in rounds])

    def change(self, first: ArrayLike, second: ArrayLike) -> PairedChange:
        """How shares changed between two rounds whose reports are in the same order of devices.

        Noise that a device remembers is the same in both rounds and cancels for everybody whose
        value is the same, so that this is more accurate than `Series.change`.

        Args:
            first: the reports of one round.
            second: those of a later one, by the same devices in the same order.

        Returns:
            The second's shares minus the first's: `frequencies`, `stderr` (never too small on
            average) and `interval(level)`.

        Raises:
            ArgumentError: where reports are not single values, or not as many in both rounds.

        Example:
            >>> import jrr
            >>> daily = Longitudinal(jrr.RR(p=0.75), jrr.RR(p=0.9))
            >>> change = daily.change([0, 0, 1, 1] * 100, [0, 1, 1, 1] * 100)
            >>> change.frequencies.round(3).tolist(), change.stderr.round(3).tolist()
            ([-0.625, 0.625], [0.054, 0.054])
        """
        if self.fresh.deals or not self.fresh.moments.exclusive:
            raise checks.refusal("fresh", self.fresh, "RR: its reports are single values")
        supports = [self._supported(reports) for reports in (first, second)]
        if len(supports[0]) != len(supports[1]) or len(supports[0]) < 2:
            raise ArgumentError(
                "second must have as many reports as first, and at least 2, got "
                f"{len(supports[1])} and {len(supports[0])}"
            )
        moved = (supports[1] - supports[0]) / self.moments.gain
        error = moved.std(axis=0, ddof=1) / math.sqrt(len(moved))
        return PairedChange(moved.mean(axis=0), error)

    def _supported(self, reports: ArrayLike) -> Floats:
        """Which values each report supports, one row per report."""
        told: Floats = self.fresh.read(reports)[:, None] == np.arange(self.k)
        return told.astype(np.float64)

    def _permanent_chances(self) -> tuple[float, float]:
        if self.permanent is None:
            return 1.0, 0.0
        of = self.permanent.moments
        return float(of.p[0]), float(of.q[0])

    def _through(self, moments: Moments) -> Moments:
        """The moments of reports of values whose permanent responses have the given ones."""
        truth, other = self._permanent_chances()

        def mixed(held: Floats, otherwise: Floats, chance: float) -> Floats:
            result: Floats = chance * held + (1 - chance) * otherwise
            return result

        cardless = None if moments.cardless is None else self._through(moments.cardless)
        return replace(
            moments,
            p=mixed(moments.p, moments.q, truth),
            q=mixed(moments.p, moments.q, other),
            gain=moments.gain * (truth - other),
            lean_holder=mixed(moments.lean_holder, moments.lean_other, truth),
            lean_other=mixed(moments.lean_holder, moments.lean_other, other),
            cardless=cardless,
        )

    def _behind(self, stratum: Stratum) -> Stratum:
        """The counts of values behind those of permanent responses."""
        truth, other = self._permanent_chances()
        squares = stratum.squares
        if squares is not None:
            squares = (squares - stratum.weight_squares * other) / (truth - other)
        return replace(
            stratum,
            moments=self._through(stratum.moments),
            counts=(stratum.counts - stratum.weight * other) / (truth - other),
            squares=squares,
        )

    # -- privacy ----------------------------------------------------------------------------

    def epsilon(
        self,
        view: str = "everything",
        *,
        rounds: int,
        secret: Secret | str = "value",
        distinct: int = 2,
        returning: bool = True,
        colluders: int = 0,
        delta: float = 0.0,
    ) -> float:
        """What somebody learns who sees all rounds.

        Args:
            view: what the adversary has in every round besides the target's report, as for
                `Mechanism.epsilon`: "report", "cards", "everything" (the collector) or "dealer"
                (collector and dealer together). A dealer alone sees no reports and learns nothing.
            rounds: how many.
            secret: "value": a value that is the same in all rounds. "values": at most `distinct`
                values, where the adversary knows when they change. "history": everything, also
                whether and when the value changed. "round": the value of one round, all others
                being known.
            distinct: for "values": how many different ones.
            returning: for "values": whether a person may hold a value again after another one.
                From three values on, which of the earlier values came back is then a secret too,
                and what is remembered does not protect it: the loss grows with the rounds.
            colluders: how many others tell the adversary what they have.
            delta: for "history": ε holds as (ε, delta)-differential privacy.

        Returns:
            ε, exact or an upper bound (docs/theory-uses.md, section 2); math.inf where unbounded.

        Raises:
            ArgumentError: for other words, or numbers out of range.
        """
        checks.one_of("view", view, VIEWS)
        wanted = checks.one_of("secret", secret, SECRETS)
        rounds = checks.integer("rounds", rounds, 1, MOST_ROUNDS)
        distinct = checks.integer("distinct", distinct, 1)
        delta = checks.delta(delta)
        if delta and wanted != "history":
            raise checks.refusal("delta", delta, "0 unless secret is 'history'")
        fresh = self.fresh.epsilon(view, colluders)
        if self.permanent is None:
            return fresh if wanted == "round" else composed_epsilon(fresh, rounds, delta)
        if wanted == "round":
            return fresh
        if wanted == "value" or (wanted == "values" and distinct == 1):
            return self._same_value(fresh, rounds)
        held = min(self.k if wanted == "history" else distinct, rounds, self.k)
        renamed = self._same_rounds(fresh, rounds, held)
        if wanted == "history":
            exact = memoised.any_history(self.k, self._lie, fresh, rounds, renamed)
            return min(exact, composed_epsilon(fresh, rounds, delta)) if delta else exact
        if held <= 2 or not returning:  # times of change tell which rounds have the same value
            return renamed
        return memoised.different_rounds(fresh, rounds, held, renamed)

    def guarantees(self, rounds: int, colluders: int = 0) -> dict[str, dict[str, float]]:
        """Secret -> view -> ε, all without a δ.

        Args:
            rounds: how many.
            colluders: whose cards the adversary knows.
        """
        return {
            secret: {
                view: self.epsilon(view, rounds=rounds, secret=secret, colluders=colluders)
                for view in VIEWS
            }
            for secret in SECRETS
        }

    @property
    def _lie(self) -> Fraction:
        assert self.permanent is not None
        return Fraction(self.permanent.lie_words, SCALE)

    def _same_value(self, fresh: float, rounds: int) -> float:
        assert self.permanent is not None
        words = self.permanent.lie_words
        return memoised.same_value(self.k, words, self._lie, fresh, rounds)

    def _same_rounds(self, fresh: float, rounds: int, distinct: int) -> float:
        """The loss of several values, where it is known which rounds have the same one."""
        assert self.permanent is not None
        most = composed_epsilon(self.permanent.epsilon(), distinct)
        if rounds > _FAR:
            return most
        losses = [self._same_value(fresh, t) for t in range(1, rounds + 1)]
        return min(most, memoised.same_rounds(losses, distinct))
