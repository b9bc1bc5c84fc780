"""The sentences of a report: how it was done, what protects people, what the numbers do not say."""

from collections.abc import Callable

from jrr.privacy.cost_table import PRIOR
from jrr.reporting.catalogue import text
from jrr.reporting.numerals import Numerals
from jrr.reporting.report_facts import ReportedAnswer, SurveyReport

Say = Callable[..., str]


def sayer(report: SurveyReport) -> Say:
    """A text of the report's part of the catalogue, in its language."""

    def say(key: str, **values: str) -> str:
        return text(report.language, f"report.{key}", **values)

    return say


def views_of(report: SurveyReport) -> tuple[str, ...]:
    """The views that differ: without cards there is one."""
    if not report.deals:
        return ("report",)
    return tuple(view for view in report.epsilons if view != "cards" or report.colluders)


def method_statement(report: SurveyReport) -> str:
    """A paragraph that can be quoted."""
    say, numerals, people = sayer(report), Numerals(report.language), report.participation
    if people.invited:
        share = numerals.percent(people.answered / people.invited, 1)
        counts = {"answered": people.answered, "invited": people.invited}
        shown = {name: numerals.count(count) for name, count in counts.items()}
        sentences = [say("method.answered_of", share=share, **shown)]
    else:
        sentences = [say("method.answered", answered=numerals.count(people.answered))]
    kinds = dict.fromkeys(
        f"{question.perturbation.title} ({question.perturbation.mechanism})"
        for question in report.questions
    )
    mechanisms = say("method.and").join(kinds)
    sentences.append(say("method.perturbed", mechanisms=mechanisms, version=report.version))
    if report.open_questions:
        sentences.append(say("method.open", questions=_listed(report)))
    if report.deals:
        sentences += _about_cards(report, say, numerals)
    sentences += _about_losses(report, say, numerals)
    level = numerals.level(report.level)
    sentences.append(say("method.estimates", level=level))
    sentences.append(say(f"method.{report.population}"))
    if report.groupings and report.min_cell > 1:
        sentences.append(say("method.small", min_cell=numerals.count(report.min_cell)))
    return " ".join(sentences)


def _about_cards(report: SurveyReport, say: Say, numerals: Numerals) -> list[str]:
    people = report.participation
    sentences = [say("method.cards")]
    if report.announces:
        sentences.append(say("method.announced"))
    if people.carded and people.cardless == 0:
        sentences.append(say("method.carded_all"))
    elif people.carded is not None and people.cardless is not None:
        counts = {"carded": people.carded, "cardless": people.cardless}
        shown = {name: numerals.count(count) for name, count in counts.items()}
        sentences.append(say("method.carded", **shown))
    if people.lost is not None and people.dealt is not None:
        lost, dealt = numerals.count(people.lost), numerals.count(people.dealt)
        sentences.append(say("method.lost", lost=lost, dealt=dealt))
        if people.lost:
            sentences.append(
                say("method.lost_announced" if report.announces else "method.lost_counted")
            )
    return sentences


def _about_losses(report: SurveyReport, say: Say, numerals: Numerals) -> list[str]:
    losses = []
    for view in views_of(report):
        key = "report_only" if not report.deals else view
        loss = numerals.loss(report.epsilons[view], report.deltas[view])
        values = {"colluders": numerals.count(report.colluders)} if view == "cards" else {}
        losses.append(say(f"view.{key}", loss=loss, **values))
    answers = sum(question.perturbation.answers for question in report.questions)
    words = "; ".join(losses)
    if answers > 1:
        sentences = [say("method.loss", answers=numerals.count(answers), losses=words)]
    else:
        sentences = [say("method.loss_one", losses=words)]
    if report.waves > 1:
        study = report.learnt.study
        collector = numerals.loss(study.collector.epsilon, study.collector.delta)
        together = numerals.loss(study.together.epsilon, study.together.delta)
        key = "method.waves" if report.learnt.deals else "method.waves_alone"
        losses_of_all = {"loss": collector, "together": together}
        sentences.append(say(key, waves=numerals.count(report.waves), **losses_of_all))
    return sentences


def guarantee_in_words(report: SurveyReport) -> list[str]:
    """What protects people, for readers who know nothing of ε."""
    say, numerals = sayer(report), Numerals(report.language)
    study = report.learnt.study  # all that a person sends, in every wave
    collector, together = study.collector, study.together
    before = numerals.level(PRIOR)
    # What holds outright against who knows the cards needs no such condition.
    hidden = collector.view == "everything" and not collector.delta
    key = "guarantee.number_card" if hidden else "guarantee.number"
    after = numerals.level(collector.belief)
    found = [say("guarantee.changed"), say(key, before=before, after=after)]
    if collector.certain < together.certain:
        after = numerals.level(together.belief)
        found.append(say("guarantee.dealer", before=before, after=after))
    if report.open_questions:
        found.append(say("guarantee.open", questions=_listed(report)))
    return found


def limits_in_words(report: SurveyReport) -> list[str]:
    """What a reader might take from the numbers and should not."""
    say, numerals = sayer(report), Numerals(report.language)
    sampled = report.population != "respondents"
    found = [say("limits.sample" if sampled else "limits.selection"), say("limits.honesty")]
    moved, without = (numerals.number(people, 1) for people in report.one_liar)
    if report.one_liar[0]:  # of means only nothing is known
        found.append(say("limits.liar", people=moved))
    if report.verified:
        found.append(say("limits.verified", people=without))
    elif report.deals:
        found.append(say("limits.dealer"))
    if not report.by_invitation:
        found.append(say("limits.repeats"))
    shown = _shown(report)
    if len(shown) > 1 and not report.simultaneous:
        miss = 1 - report.level
        found.append(
            say(
                "limits.many",
                count=numerals.count(len(shown)),
                miss=numerals.level(round(miss, 9)),
                missed=numerals.number(len(shown) * miss, 1),
            )
        )
    if any(grouping.questions for grouping in report.groupings):
        found.append(say("limits.groups"))
    if any(question.asked_if for question in report.questions):
        found.append(say("limits.branches"))
    if any(answer.value < 0 or answer.value > 1 for answer in _shown(report, means=False)):
        found.append(say("limits.outside"))
    return found


def _shown(report: SurveyReport, means: bool = True) -> list[ReportedAnswer]:
    """Every number on the page that has an interval."""
    kept = {
        question.name: question for question in report.questions if means or not question.is_mean
    }
    found = [answer for question in kept.values() for answer in question.answers]
    for grouping in report.groupings:
        for one in grouping.questions:
            if one.question in kept:
                found += [answer for group in one.groups for answer in group.answers]
    return found


def _listed(report: SurveyReport) -> str:
    """The texts of the open questions, in a row."""
    texts = report.open_questions.values()
    return ", ".join(text(report.language, "quoted", words=words) for words in texts)
