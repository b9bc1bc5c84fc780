"""A whole survey over HTTP: two servers as processes of their own, and every contributor."""

import asyncio
import math
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from jrr._base.randomness import SecureRandom, shuffled
from jrr.client.fleet import drive_all
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.interface import Dealing, even_deck
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError, IntegrityError, JrrError
from jrr.mechanisms.base import Mechanism
from jrr.planning.plans import Plan
from jrr.planning.plans import plan as plan_for
from jrr.protocol.identity import invitation_secret
from jrr.protocol.steps import Steps
from jrr.research import processes
from jrr.research.demo import DemoRun, DemoSurvey
from jrr.research.processes import Running, running, running_committee
from jrr.survey import contributor
from jrr.survey.contributor import Receipt
from jrr.survey.draft import one_question
from jrr.survey.promises import COST
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey

PARTIES = 3
QUESTION = "Have you ever taken a bribe?"
ANSWER = "answer"  # the name of the only question
T = TypeVar("T")
Progress = Callable[[str, int, int], None]  # what is being done, how much, of how much


@dataclass(frozen=True)
class _Person:
    """A contributor who has only an invitation, a device and an answer."""

    secret: bytes
    device: bytes
    value: int | None  # None: takes a card and is never heard of again


def over_http(
    survey: DemoSurvey,
    *,
    committee: bool = False,
    dealers: int = 1,
    postgres: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> DemoSurvey:
    """The survey, its chosen mechanism's outcome replaced by one over the network.

    The servers stop whatever happens.

    Args:
        survey: What was run in one process.
        committee: Three parties deal the cards together, and there is no dealer.
        dealers: How many servers each deal a card, which everybody adds.
        postgres: Servers on PostgreSQL instead of SQLite.
        progress: Told what is being done, how much, and of how much.

    Returns:
        The same survey with that one outcome.

    Raises:
        MissingExtraError: PostgreSQL is asked for and not installed.
        JrrError: Contributors failed.
        IntegrityError: The export is of another mechanism than was planned.
    """
    chosen, plan = survey.chosen, survey.outcomes[survey.chosen].plan
    if committee:
        chosen = _dealt_by_committee(survey)
        plan = _planned_for_committee(survey.outcomes[chosen].plan, chosen)
    elif dealers > 1 and not plan.mechanism.announced:
        raise ArgumentError(
            f"--dealers must be 1 for {plan.mechanism.name}: only cards whose sums are announced "
            "(MRR) can be dealt by several and added"
        )
    role, count = ("party", PARTIES) if committee else ("dealer", dealers)
    names = [f"{role} {number}" for number in range(count if plan.mechanism.deals else 0)]
    with tempfile.TemporaryDirectory(prefix="jrr-demo-") as name, ExitStack() as stack:
        folder, databases = Path(name), dict[str, str]()
        if postgres:
            progress("starting PostgreSQL", 0, 1)
            databases = stack.enter_context(processes.postgres(folder, "collector", *names))

        def start(role: str, name: str) -> Running:
            progress(f"starting {name}", 0, 1)
            own = folder / name.replace(" ", "-")
            return stack.enter_context(running(role, own, databases.get(name)))

        collector = start("collector", "collector")
        servers = [start(role, name) for name in names]
        dealing: Dealing = Nobody()
        if servers:
            urls = tuple(one.url for one in servers)
            proved = plan.mechanism.announced  # as surveys over a network are, where they can be
            dealing = running_committee(servers, 1) if committee else Dealers(urls, verified=proved)
        asked = _survey(plan, dealing, collector.url, survey.n)
        admins = {number: server.admin for number, server in enumerate(servers)}
        exported = _ask_all(Operator(asked, admins, collector.admin), survey, progress)
        outcome = _outcome(plan, asked.by_name[ANSWER].for_people(survey.n), exported, folder)
    return replace(survey, chosen=chosen, outcomes=survey.outcomes | {chosen: outcome})


def _ask_all(operator: Operator, demo: DemoSurvey, progress: Progress) -> bytes:
    """Invite everybody, let them answer or vanish, and close; the answers as Parquet."""
    survey, n = operator.survey, demo.n
    reporters = n - demo.vanished
    says_yes = (np.arange(reporters) < round(demo.truth * reporters)).astype(np.int64)
    # Who says yes, and who vanishes, has nothing to do with who comes when.
    answers = shuffled(np.append(says_yes, [-1] * demo.vanished), SecureRandom())
    operator.install()
    progress("inviting", 0, 1)
    invitations = new_invitations(n)
    operator.invite(invitations)
    operator.open()
    limits = Limits(survey.cost, patience=30.0)
    people = [
        _Person(invitation_secret(text), os.urandom(32), None if value < 0 else int(value))
        for text, value in zip(invitations, answers, strict=True)
    ]
    if survey.dealing.enrols:
        _all(
            (contributor.enrol(survey, one.secret, limits, one.device) for one in people),
            lambda done: progress("enrolling over HTTP", done, n),
        )
        progress("three parties shuffle and seal", 0, 1)
        operator.deal()
    _all(
        (_answer(survey.link, person, limits) for person in people),
        lambda done: progress("answering over HTTP", done, n),
    )
    progress("closing and burning the cards", 0, 1)
    operator.close()
    return operator.export("parquet")


def _dealt_by_committee(survey: DemoSurvey) -> str:
    """What was chosen, or the best of what parties can deal: decks that everybody knows."""
    if not survey.outcomes[survey.chosen].mechanism.masked:
        return survey.chosen
    known = {key: one for key, one in survey.outcomes.items() if not one.mechanism.masked}
    return min(known, key=lambda key: known[key].plan.stderr())


def _planned_for_committee(plan: Plan, mechanism: str) -> Plan:
    """The same request, planned so that the guarantee holds when enrolment fixes n."""
    asked = plan.request
    return plan_for(
        even_deck(asked.n),
        asked.epsilon,
        colluders=asked.colluders,
        dealer_epsilon=math.inf if asked.dealer_epsilon is None else asked.dealer_epsilon,
        mechanism=mechanism,
    )


def _survey(plan: Plan, dealing: Dealing, collector: str, capacity: int) -> Survey:
    """One question, asked by the plan's mechanism."""
    draft, mechanism = one_question(QUESTION), plan.mechanism
    return Survey(
        title=draft.title,
        languages=draft.languages,
        questions=tuple(question.as_asked for question in draft.questions),
        mechanisms={ANSWER: dealing.fitted(mechanism) if mechanism.deals else mechanism},
        dealing=dealing,
        collector=collector,
        capacity=capacity,
        colluders=plan.request.colluders if mechanism.deals else 0,
        consent=dict.fromkeys(draft.languages, COST),
    )


def _all(conversations: Iterable[Steps[T]], progress: Callable[[int], None]) -> int:
    """Run them all; how many there were. One that fails is one too many."""
    results = asyncio.run(drive_all(conversations, progress))
    failed = [result for result in results if isinstance(result, Exception)]
    if failed:
        first = failed[0]
        kind = type(first) if isinstance(first, JrrError) else JrrError
        raise kind(f"{len(failed)} of {len(results)} contributors failed, the first by: {first}")
    return len(results)


def _answer(link: str, person: _Person, limits: Limits) -> Steps[Receipt | None]:
    """Somebody who has only the link fetches the survey, gets a card and answers, or vanishes."""
    survey = yield from contributor.fetch_survey(link, limits)
    if person.value is None:
        yield from contributor.fetch_hands(survey, person.secret, limits.patience, person.device)
        return None
    answers = {ANSWER: person.value}
    steps = contributor.contribute(survey, person.secret, answers, limits, device=person.device)
    return (yield from steps)


def _outcome(plan: Plan, dealt: Mechanism, exported: bytes, folder: Path) -> DemoRun:
    """Count the exported file once more: what is shown is what anybody can check."""
    from jrr.tables.survey_answers import estimate_survey

    path = folder / "answers.parquet"
    path.write_bytes(exported)
    result = estimate_survey(path)[ANSWER]
    if result.header.mechanism != dealt:
        raise IntegrityError("the collector must export the mechanism that was planned")
    asked = replace(plan.request, n=dealt.moments.deck or plan.request.n)  # enrolment fixed it
    return DemoRun(replace(plan, request=asked, mechanism=dealt), result.estimate)
