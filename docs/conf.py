"""The site: Markdown pages, no outside request when built or read."""

project = "phistar"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "phistar"
exclude_patterns = ["_build"]
html_show_copyright = False
html_copy_source = False
