"""Empirical audits: black-box tests of privacy claims (docs/security.md)."""

from jrr.research.audit.subject import Command, Function, Subject
from jrr.research.audit.verdict import ERROR, Audit, Hits, audit, epsilon_at_least, false_alarm_rate
from jrr.research.audit.views import (
    CardedReportView,
    CardsView,
    DealerView,
    EverythingView,
    ReportView,
    RoundsView,
)

__all__ = [
    "ERROR",
    "Audit",
    "CardedReportView",
    "CardsView",
    "Command",
    "DealerView",
    "EverythingView",
    "Function",
    "Hits",
    "ReportView",
    "RoundsView",
    "Subject",
    "audit",
    "epsilon_at_least",
    "false_alarm_rate",
]
