"""What the site needs beyond Markdown: pages from the repository's root, examples, formulas.

MkDocs calls the functions named `on_…` while it builds (`hooks` in mkdocs.yml).
"""

import ast
import html
import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
EXAMPLES = (
    "survey_researcher",
    "telemetry_engineer",
    "paper_researcher",
    "analyst_at_scale",
    "data_scientist",
    "add_a_mechanism",
)

# Files outside docs/ that are pages of the site: where they are, and what the site calls them.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{f"examples/{name}.py": f"examples/{name}.md" for name in EXAMPLES},
}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
INLINE_FORMULA = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lets ```math blocks be formulas, as code hosts do."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "math", "format": _display_formula}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that lie outside docs/."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        content = example_page(text, source) if source.endswith(".py") else text
        files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that hold in the repository into links that hold on the site."""
    here = page.file.src_uri
    origin = {target: source for source, target in PAGES.items()}.get(here, f"docs/{here}")
    return LINK.sub(lambda link: _site_link(link, origin, here), markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Writes formulas inside lines as MathML."""
    return INLINE_FORMULA.sub(lambda match: formula(html.unescape(match[1])), content)


def formula(latex: str, *, display: bool = False) -> str:
    """MathML of a formula: browsers draw it themselves, without scripts or fonts of ours."""
    return convert(latex, display="block" if display else "inline")


def example_page(code: str, source: str) -> str:
    """A page from a Python file in cells: `# %% [markdown]` holds text, `# %%` holds code.

    A file without cells is shown as a whole, below its docstring.
    """
    parts = [f"<!-- from {source} -->"]
    if "# %%" not in code:
        docstring = (ast.get_docstring(ast.parse(code)) or source).split("\n\n")
        title = docstring[0].replace("\n", " ").rstrip(".")
        body = code.split('"""', 2)[2].strip()
        return "\n\n".join([*parts, f"# {title}", *docstring[1:], f"```python\n{body}\n```"]) + "\n"
    for cell in re.split(r"^# %%", code, flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if kind.strip() == "[markdown]":
            parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            parts.append(f"```python\n{body.strip()}\n```")
    parts.append(f"This page is the file `{source}`; run it with `.venv/bin/python {source}`.")
    return "\n\n".join(parts) + "\n"


def _display_formula(source: str, *_: Any, **__: Any) -> str:
    """A formula on lines of its own; an empty line ends one and starts another."""
    formulas = (formula(part, display=True) for part in source.strip().split("\n\n"))
    return f'<div class="formula">{"".join(formulas)}</div>'


def _site_link(link: re.Match[str], origin: str, here: str) -> str:
    image, text, target, anchor = link.groups()
    if not target or "://" in target or target.startswith("mailto:"):
        return link[0]
    place = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    if place in PAGES:
        place = PAGES[place]
    elif origin == "CHANGELOG.md" and not (ROOT / place).exists():
        return text  # it tells what was: a page that it names may have become part of another
    elif place.startswith("docs/"):
        place = place.removeprefix("docs/")
    else:  # a file of the repository that is no page: its name must do
        return f"{text} (`{place}`)" if place not in text else text
    if origin == "CHANGELOG.md":
        anchor = None  # headings may have other names since
    relative = posixpath.relpath(place, posixpath.dirname(here) or ".")
    return f"{image}[{text}]({relative}{anchor or ''})"
