"""The templates of the pages that phistar writes: report.html, replay.html, campaign.html, simulating.html."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import PhistarError
from phistar.view.report_picture import png


class Picture(NamedTuple):
    """A picture inside a page."""

    source: str
    width: int
    height: int


def embed_image(image: np.ndarray) -> Picture:
    """Encode an image of (height, width, 4) so that a page holds it."""
    data = base64.b64encode(png(image)).decode("ascii")
    return Picture(f"data:image/png;base64,{data}", image.shape[1], image.shape[0])


def render(template: str, content: dict[str, Any]) -> str:
    """Fill a template of `view/templates`; every text in it is escaped."""
    return _pages().get_template(template).render(content)


@cache
def _pages() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise PhistarError("Pages are made with jinja2: pip install 'phistar[view]'.") from None
    # Whole lines of {% … %} leave nothing behind; a name that a template misspells is an error.
    pages = Environment(
        loader=PackageLoader("phistar.view"),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    pages.filters["percent"] = lambda share: "none" if share is None else f"{share:.1%}"
    return pages
