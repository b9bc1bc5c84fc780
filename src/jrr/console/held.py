"""The surveys and campaigns that this collector holds, and their operator."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from jrr.client.http import Admin
from jrr.client.operator import Operator
from jrr.client.survey_operator import SurveyOperator
from jrr.console.desk import Desk, Visit, not_here
from jrr.console.sessions import Session
from jrr.errors import ArgumentError, ProtocolError
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.database import READS
from jrr.survey.campaign import Campaign, read_campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.surveys import Survey, read_survey

SURVEYS, CAMPAIGNS = "surveys", "campaigns"  # as addresses name them
KIND = "{kind}"  # of a route: one of them
AnyOperator = Operator | SurveyOperator


@dataclass(frozen=True)
class HeldDocument:
    """One of them."""

    document: Campaign | Survey

    @property
    def name(self) -> str:
        """Its hash."""
        return self.document.hash

    @property
    def kind(self) -> str:
        """As addresses name it."""
        return SURVEYS if isinstance(self.document, Survey) else CAMPAIGNS

    @property
    def path(self) -> str:
        """Below the console."""
        return f"/{self.kind}/{self.name}"

    @property
    def title(self) -> str:
        """In its first language."""
        if isinstance(self.document, Survey):
            return next(iter(self.document.questionnaire.title.values()))
        return self.document.question

    @property
    def first(self) -> Campaign:
        """For what all parts share."""
        return self.document.first if isinstance(self.document, Survey) else self.document

    @property
    def campaigns(self) -> tuple[Campaign, ...]:
        """One for each answer that is perturbed."""
        document = self.document
        return tuple(document.campaigns.values()) if isinstance(document, Survey) else (document,)

    @property
    def first_dealt(self) -> Campaign:
        """The first that has cards, if any has."""
        return next((one for one in self.campaigns if one.deals), self.first)

    @property
    def announces(self) -> bool:
        """Whether dealers announce a sum of their cards at the end."""
        return any(one.announces for one in self.campaigns)

    @property
    def dealers(self) -> tuple[str, ...]:
        """Addresses of those who deal the cards."""
        if isinstance(self.document, Survey):
            return tuple(self.document.dealer.addresses)
        return tuple(self.document.dealers)

    @property
    def covariates(self) -> dict[str, str]:
        """What results can be grouped by: name -> what was asked."""
        if isinstance(self.document, Survey):
            asked = {item.name: item for item in self.document.questionnaire.open}
            return {name: next(iter(asked[name].text.values())) for name in self.first.covariates}
        return {name: name for name in self.first.covariates}


def read(desk: Desk, job: Any, *args: Any) -> Any:
    """Ask the database, without locking anything."""
    with desk.engine.connect().execution_options(**{READS: True}) as connection:
        return job(connection, *args)


def all_held(connection: Connection) -> list[HeldDocument]:
    """Everything that is here, surveys first; parts of surveys are not listed by themselves."""
    surveys, campaigns = CollectorStore.surveys, CollectorStore.campaigns
    found: list[HeldDocument] = [
        HeldDocument(read_survey(bytes(row.document)))
        for row in connection.execute(select(surveys))
    ]
    alone = select(campaigns.c.document).where(campaigns.c.survey.is_(None))
    found += [HeldDocument(read_campaign(bytes(row.document))) for row in connection.execute(alone)]
    return found


def find_held(
    connection: Connection, kind: str, name: str, store: Any = CollectorStore
) -> HeldDocument:
    """One of them; refused where it is not of this server.

    store: The class of the server's own; parties of a committee hold no surveys of several items.
    """
    if kind not in (SURVEYS, CAMPAIGNS):
        raise not_here("there is no such page")
    is_survey = kind == SURVEYS
    table: Any = getattr(store, kind, None)
    row = None
    if table is not None:
        column = table.c.survey if is_survey else table.c.campaign
        row = connection.execute(select(table).where(column == name)).one_or_none()
    is_part = row is not None and not is_survey and getattr(row, "survey", None) is not None
    if row is None or is_part:
        raise not_here(f"this {store.role} holds no such survey")
    body = bytes(row.document)
    return HeldDocument(read_survey(body) if is_survey else read_campaign(body))


def held_of(visit: Visit) -> HeldDocument:
    """The one that a visit's address names."""
    found: HeldDocument = read(visit.desk, find_held, visit.path("kind"), visit.path("name"))
    return found


def operator_of(desk: Desk, held: HeldDocument, session: Session | None = None) -> AnyOperator:
    """The operator of this collector, and of those dealers whose tokens the session has."""
    document, campaign = held.document, held.first_dealt
    inside = Admin(campaign.collector, "", sender=desk.sender)
    typed = {} if session is None else session.dealer_tokens
    admins = tuple(Admin(at, typed[at]) for at in held.dealers if at in typed)
    alone = isinstance(campaign.dealer, DealerServer)
    servers = Operator(
        campaign,
        admins[0] if alone and admins else None,
        inside,
        () if alone else admins,
    )
    return SurveyOperator(document, servers) if isinstance(document, Survey) else servers


def take_tokens(visit: Visit, held: HeldDocument) -> None:
    """Tokens that were typed in, for dealers by number; each is tried before it is kept."""
    kind = "surveys" if isinstance(held.document, Survey) else "campaigns"
    for number, address in enumerate(held.dealers):
        token = visit.form.get(f"token{number}")
        if token:
            try:
                Admin(address, token).get(f"/v1/admin/{kind}/{held.name}")
            except ProtocolError as error:
                if any(code in str(error) for code in ("(401)", "(403)")):
                    raise ArgumentError(
                        f"the dealer at {address} refuses this token: is it the one that `jrr "
                        "serve token` printed for that server, and not this collector's?"
                    ) from None
                if "(404)" not in str(error):  # the token is right, the survey not there yet
                    raise
            visit.session.dealer_tokens[address] = token
