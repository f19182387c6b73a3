"""What a person sees: the viewer, replays, live views and pictures of operators."""

from phistar.lazy import lazily

_HOME = {
    "Recording": "phistar.view.recording",
    "Viewer": "phistar.view.viewer",
    "replay": "phistar.view.replay",
}

__getattr__, __dir__, __all__ = lazily("phistar.view", _HOME)  # pyright: ignore[reportUnsupportedDunderAll]
