"""Files of a survey: answers, codebook, an R script, a page to print, the document itself."""

from starlette.responses import HTMLResponse, Response

from jrr.client.codebook import codebook_csv, codebook_json
from jrr.client.export import r_script
from jrr.client.report import ReportWish
from jrr.console.operators import operator_of
from jrr.console.pages import PageRequest, download, not_here, page, read
from jrr.console.snapshots import counts_of, report_of
from jrr.console.surveys import PATH, survey_of
from jrr.reporting.catalogue import known_languages
from jrr.reporting.report_page import report_page
from jrr.survey.ethics import ethics_document
from jrr.survey.survey import Survey

# A page without scripts, that asks nobody for anything; its styles stand in it.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
ANSWERS = ("answers.csv", "answers.parquet")
CODEBOOKS = ("codebook.csv", "codebook.json", "answers.R")


def languages_of(survey: Survey) -> tuple[str, ...]:
    """Of a report: those that were asked in, then the catalogue's."""
    return tuple(dict.fromkeys((*survey.languages, *known_languages())))


@page(f"{PATH}/files")
def _listed(request: PageRequest) -> Response:
    survey = survey_of(request)
    return request.page(
        "files.html",
        survey=survey,
        tab="files",
        languages=languages_of(survey),
        counts=read(request.console, counts_of, survey),
    )


@page(f"{PATH}/ethics")
def _ethics(request: PageRequest) -> Response:
    """For an ethics board, as a page to print or as Markdown."""
    survey = survey_of(request)
    document = ethics_document(survey, request.query.get("language") or None)
    if request.query.get("save"):
        name = f"ethics-{survey.hash[:8]}.md"
        return download(document.markdown(), name, "text/markdown; charset=utf-8")
    return HTMLResponse(document.page(), headers={"content-security-policy": REPORT_POLICY})


@page(f"{PATH}/report")
def _report(request: PageRequest) -> Response:
    survey = survey_of(request)
    wish = ReportWish(language=request.query.get("language") or None)
    body = report_page(report_of(request.console, survey, request.session, wish))
    if request.query.get("save"):
        return download(body, f"report-{survey.hash[:8]}.html", "text/html; charset=utf-8")
    return HTMLResponse(body, headers={"content-security-policy": REPORT_POLICY})


@page(f"{PATH}/files/{{file}}")
def _file(request: PageRequest) -> Response:
    survey, file = survey_of(request), request.path("file")
    operator = operator_of(request.console, survey, request.session, deals=False)
    start = f"{'test-' if survey.pilot else ''}{survey.hash[:8]}"
    name = f"{start}-{file}"
    if file == "document.json":
        return download(survey.to_bytes(), f"survey-{start}.json", "application/json")
    if file in ANSWERS:
        return download(operator.export(file.removeprefix("answers.")), name, _kind(file))
    if file not in CODEBOOKS:
        raise not_here("there is no such file")
    if file == "codebook.csv":
        return download(codebook_csv(survey), name, _kind(file))
    results = operator.estimates()
    if file == "codebook.json":
        return download(codebook_json(survey, results), name, _kind(file))
    return download(r_script(survey, results, f"{start}-answers.csv"), name, _kind(file))


def _kind(file: str) -> str:
    ending = file.rpartition(".")[2]
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    return kinds.get(ending, "application/octet-stream")
