"""What a person sees: the viewer, replays, live views and pictures of operators."""

from phistar.lazy import lazily

_HOME = {
    "Live": "phistar.view.live",
    "Recording": "phistar.view.recording",
    "Viewer": "phistar.view.viewer",
    "operator_picture": "phistar.view.pictures",
    "replay": "phistar.view.replay",
}

__getattr__, __dir__, __all__ = lazily("phistar.view", _HOME)  # pyright: ignore[reportUnsupportedDunderAll]
