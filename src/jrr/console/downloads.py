"""Files of a survey: answers, codebook, an R script, a page to print, the document itself."""

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from jrr.client.codebook import codebook_csv, codebook_json
from jrr.client.operator import Operator
from jrr.client.r_script import r_script
from jrr.client.report import ReportWish
from jrr.console.desk import Desk, Visit, download, not_here, page
from jrr.console.held import KIND, HeldDocument, held_of, operator_of
from jrr.console.looking import report_of
from jrr.reporting.catalogue import known_languages
from jrr.reporting.report_page import report_page
from jrr.survey.surveys import Survey

# A page without scripts, that asks nobody for anything; its styles stand in it.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
OF_SURVEYS = ("answers.csv", "answers.parquet", "codebook.csv", "codebook.json", "answers.R")
OF_CAMPAIGNS = ("reports.csv", "reports.csv.json", "reports.parquet")


def routes(desk: Desk) -> list[Route]:
    """Their addresses; what is not one of these names is not here."""
    base = f"/{KIND}/{{name}}"
    return [
        page(desk, f"{base}/files", _listed),
        page(desk, f"{base}/files/{{file}}", _file),
        page(desk, f"{base}/report", _report),
    ]


def languages_of(held: HeldDocument) -> tuple[str, ...]:
    """Of a report: those that were asked in, then the catalogue's."""
    asked = held.document.questionnaire.languages if isinstance(held.document, Survey) else ()
    return tuple(dict.fromkeys((*asked, *known_languages())))


def _listed(visit: Visit) -> Response:
    held = held_of(visit)
    return visit.page("files.html", held=held, tab="files", languages=languages_of(held))


def _report(visit: Visit) -> Response:
    held = held_of(visit)
    wish = ReportWish(language=visit.query.get("language") or None)
    body = report_page(report_of(visit.desk, held, visit.session, wish))
    if visit.query.get("save"):
        return download(body, f"report-{held.name[:8]}.html", "text/html; charset=utf-8")
    return HTMLResponse(body, headers={"content-security-policy": REPORT_POLICY})


def _file(visit: Visit) -> Response:
    held, file = held_of(visit), visit.path("file")
    operator = operator_of(visit.desk, held)
    start = held.name[:8]
    if file == "document.json":
        return download(held.document.to_bytes(), f"survey-{start}.json", "application/json")
    if isinstance(operator, Operator):
        if file not in OF_CAMPAIGNS:
            raise not_here("there is no such file")
        body = operator.export(file.removeprefix("reports."))
        return download(body, f"{start}-{file}", _kind(file))
    if file not in OF_SURVEYS:
        raise not_here("there is no such file")
    survey, name = operator.survey, f"{start}-{file}"
    if file.startswith("answers.") and not file.endswith(".R"):
        return download(operator.export(file.removeprefix("answers.")), name, _kind(file))
    if file == "codebook.csv":
        return download(codebook_csv(survey, None), name, _kind(file))
    results = operator.estimates()
    if file == "codebook.json":
        return download(codebook_json(survey, results, None), name, _kind(file))
    return download(r_script(survey, results, f"{start}-answers.csv"), name, _kind(file))


def _kind(file: str) -> str:
    ending = file.rpartition(".")[2]
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    return kinds.get(ending, "application/octet-stream")
