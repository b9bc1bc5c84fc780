"""`jrr survey ethics`: what an ethics board asks, from the survey's document alone."""

from pathlib import Path

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.output import json_option, show, unwrapped
from jrr.cli.survey.shared import read_survey_file
from jrr.cli.values import FILE


@click.command()
@click.argument("file", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="A page (.html) or Markdown (.md).")
@click.option("--language", help="As en or de.  [default: the first one of the survey]")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def ethics(file: Path, out: Path, language: str | None, force: bool) -> None:
    """Write the document for an ethics board or a data protection officer.

    Purpose, what is asked, what is stored where and how long, what each party can learn, withdrawal
    and deletion, and the words that people agree to. It follows from the survey's document: no
    server is asked, so that it can be handed in before anything is open.

    \b
    jrr survey ethics survey.json -o ethics.html
    jrr survey ethics survey.json -o ethik.md --language de
    """  # noqa: D301 - click reads the \b
    from jrr.survey.ethics import ethics_document

    if out.suffix not in (".html", ".md"):
        raise checks.refusal("out", str(out), "a name that ends in .html or .md")
    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    document = ethics_document(read_survey_file(file), language)
    write_whole(out, document.markdown() if out.suffix == ".md" else document.page())
    sections = [section.title for section in document.sections]
    show({"file": str(out), "sections": sections}, unwrapped(f"Ethics and data protection: {out}"))
