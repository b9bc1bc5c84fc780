"""Writes into the answer page which bytes its scripts and styles must have (subresource integrity).

    python tools/page_integrity.py           # writes clients/js/page/index.html anew
    python tools/page_integrity.py --check   # exits with 1 where that would change it

A browser then refuses a file whose bytes differ. Modules that others import are named as
`modulepreload`, because an import itself cannot say what its bytes must be. Modules that only some
surveys or readers of a language need are named as `lazy`, which browsers pass over until
src/lazy.js says they are needed. Also written is what is read without JavaScript, in each language.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "clients" / "js"
INDEX = CLIENT / "page" / "index.html"
SCRIPT = "page.js"
STYLE = "page.css"
PACKAGE = "index.js"  # what the package exports; the page imports each module by itself
ENGLISH = CLIENT / "texts" / "en.js"  # the only language that everybody loads
LAZY = ("texts", "vendor", "verified")  # folders of what is loaded when needed (src/lazy.js)
_LINES = re.compile(
    r'^ *<(?:link rel="(?:modulepreload|stylesheet|lazy)"|script) [^\n]*\n', flags=re.MULTILINE
)
_WITHOUT_SCRIPTS = re.compile(r"(?<=<noscript>\n).*?(?= *</noscript>)", flags=re.DOTALL)


def integrity(path: Path) -> str:
    """The attribute of one file."""
    digest = base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    return f'integrity="sha256-{digest}"'


def lines() -> list[str]:
    """The lines of index.html that name files; modules before the script that imports them."""
    page = INDEX.parent
    modules = [
        *(
            (path, f"../src/{path.name}")
            for path in sorted((CLIENT / "src").glob("*.js"))
            if path.name != PACKAGE
        ),
        *((path, path.name) for path in sorted(page.glob("*.js")) if path.name != SCRIPT),
        (ENGLISH, "../texts/en.js"),
    ]
    files = [path for name in LAZY for path in sorted((CLIENT / name).glob("*.js"))]
    lazy = [path for path in files if path != ENGLISH]
    style, script = integrity(page / STYLE), integrity(page / SCRIPT)
    return [
        f'<link rel="stylesheet" href="{STYLE}" {style}>',
        *(f'<link rel="modulepreload" href="{at}" {integrity(path)}>' for path, at in modules),
        *(
            f'<link rel="lazy" href="../{path.parent.name}/{path.name}" {integrity(path)}>'
            for path in lazy
        ),
        f'<script type="module" src="{SCRIPT}" {script}></script>',
    ]


def without_scripts() -> str:
    """What the page says where it cannot run, in every language."""
    said = {
        path.stem: re.findall(r'^  noscript: "(.*)",$', path.read_text("utf-8"), re.MULTILINE)[0]
        for path in (ENGLISH, *sorted(ENGLISH.parent.glob("*.js")))
    }
    return "".join(f'        <p lang="{code}">{words}</p>\n' for code, words in said.items())


def sealed(html: str) -> str:
    """The page with these lines in place of those it has."""
    html = _WITHOUT_SCRIPTS.sub(without_scripts(), html)
    rest = _LINES.sub("", html)
    named = "".join(f"    {line}\n" for line in lines())
    return rest.replace("  </head>\n", f"{named}  </head>\n")


def main() -> int:
    """Write, or check."""
    html = INDEX.read_text("utf-8")
    if sealed(html) == html:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{INDEX} is stale: run python tools/page_integrity.py")
        return 1
    INDEX.write_text(sealed(html), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
