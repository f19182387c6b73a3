"""The site: Markdown pages, no outside request when built or read."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

project = "phistar"
extensions = ["myst_parser", "mathematics"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
html_math_renderer = "typeset"
html_theme = "furo"
html_title = "phistar"
html_static_path = ["static"]
html_css_files = ["phistar.css"]
exclude_patterns = ["_build"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_show_copyright = False
html_copy_source = False
add_module_names = False
python_maximum_signature_line_length = 88
primary_domain = "py"


def with_certificates(app: Any, name: str, source: list[str]) -> None:
    """Put links to the certificates of the derivations that a page shows under it."""
    kept = Path(__file__).parent / "algebra" / "certificates" / "pages.json"  # by generate_certificates.py
    files = json.loads(kept.read_text("utf-8")).get(name) if kept.exists() else None
    if files:
        links = ", ".join(f"{{download}}`{i} </algebra/certificates/{file}>`" for i, file in enumerate(files, start=1))
        source[0] += f"\n\n---\n\nCertificates of the derivations above, checked when the site was built: {links}.\n"


def setup(app: Any) -> None:
    app.connect("source-read", with_certificates)
