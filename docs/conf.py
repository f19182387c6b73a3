"""The site: Markdown pages, no outside request when built or read."""

import sys
from pathlib import Path

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
