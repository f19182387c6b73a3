"""The site: Markdown pages, no outside request when built or read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "phistar"
extensions = ["myst_parser", "mathematics"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "drawn"
html_theme = "furo"
html_title = "phistar"
html_static_path = ["static"]
html_css_files = ["phistar.css"]
exclude_patterns = ["_build"]
html_show_copyright = False
html_copy_source = False
