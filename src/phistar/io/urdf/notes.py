"""Notes on what a URDF reader ignores, gathered to report each kind of thing once."""

from dataclasses import dataclass, field

from phistar.io.xml import Element, quote

_MOST_KINDS = 100  # a file made of nothing but unknown elements gets no endless list


@dataclass
class _Kind:
    count: int
    line: int
    example: str


@dataclass
class Notes:
    """Kinds of ignored things in the order first met, with how often and where."""

    kinds: dict[str, _Kind] = field(default_factory=dict)

    def add(self, sentence: str, element: Element, example: str = "") -> None:
        """One more thing of the kind that `sentence` (without its full stop) describes."""
        if sentence not in self.kinds and len(self.kinds) >= _MOST_KINDS:
            sentence = "other things were ignored"
        kind = self.kinds.setdefault(sentence, _Kind(0, element.line, example))
        kind.count += 1

    def ignore(self, element: Element, parent: Element, consequence: str = "") -> None:
        """An element with no place in a model."""
        self.add(f"<{element.tag[:60]}> in <{parent.tag[:60]}> was ignored{consequence}", element)

    def sentences(self) -> tuple[str, ...]:
        return tuple(_tell(sentence, kind) for sentence, kind in self.kinds.items())


def _tell(sentence: str, kind: _Kind) -> str:
    example = f": {quote(kind.example)}" if kind.example else ""
    where = f"line {kind.line}" if kind.count == 1 else f"{kind.count} times, first on line {kind.line}"
    return f"{sentence[0].upper()}{sentence[1:]} ({where}{example})."
