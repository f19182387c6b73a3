"""WD89's view of a model: real, terminating and connector links as one binary tree, and the loop closure equations.

WD89 (Walker, Dionise 1989, section 2.1) stores any mechanism as a tree in which a link has at most two immediate
descendants, one successor and one connector:

    0               the inertial link
    1 … m           real links, the model's bodies in its order; link i moves by joint i
    m+1 … m+r       terminating links: fictitious successors at the r cut joints, where the loops are broken
    m+r+1 …         connector links: massless, fixed; they locate the further joints of a link

The paper leaves the connectors' order open; here it is the one of its Fig. 1(b). A link's first descendant is its
successor; each other one has a connector, the last descendant first, links in their order; then each loop has a
connector on the side where it closes, the last loop first. A link's connectors hang on each other in that order. Joints
of several degrees of freedom stay one link here, where the paper inserts massless ones (its section 4).
"""

from dataclasses import dataclass
from typing import Literal

from phistar.model.joints import Fixed
from phistar.model.model import Model
from phistar.model.parts import CoupledJoints, Loop

Kind = Literal["inertial", "successor", "terminating", "connector"]


@dataclass(frozen=True)
class Node:
    """One link of the binary tree: number, kind, name, and the numbers of its neighbours.

    `name` is the body's, the cut joint's, or, for a connector, that of the joint it locates. `variable` is the joint's
    coordinate (q3 of joint 3); the inertial link, connectors and welded cut joints have none.
    """

    number: int
    kind: Kind
    name: str
    variable: str | None = None
    predecessor: int | None = None
    successor: int | None = None
    connector: int | None = None

    @property
    def children(self) -> tuple[int, ...]:
        """Immediate descendants: the successor, then the connector."""
        return tuple(number for number in (self.successor, self.connector) if number is not None)


@dataclass(frozen=True)
class Closure:
    """T_0^connector = T_0^terminating: a loop's two ends, by number."""

    name: str
    connector: int
    terminating: int


@dataclass(frozen=True)
class BinaryTree:
    """WD89's data structure: `nodes[i]` is link i; a closure for each cut joint, a sentence for each coupling."""

    model: str
    nodes: tuple[Node, ...]
    closures: tuple[Closure, ...]
    couplings: tuple[str, ...]

    def of_kind(self, kind: Kind) -> tuple[int, ...]:
        """The numbers of all links of a kind."""
        return tuple(node.number for node in self.nodes if node.kind == kind)

    def product(self, number: int) -> str:
        """T_0^number as the product of T_φ^i along its predecessors φ (WD89 section 2.2), as text."""
        factors = []
        node = self.nodes[number]
        while node.predecessor is not None:
            argument = f"({node.variable})" if node.variable else ""
            factors.append(f"T_{node.predecessor}^{node.number}{argument}")
            node = self.nodes[node.predecessor]
        return " ".join(reversed(factors))

    @property
    def equations(self) -> tuple[str, ...]:
        """The loop closure equations (WD89 equations 8 and 9), then the couplings, as text."""
        closures = (f"{self.product(loop.connector)} = {self.product(loop.terminating)}" for loop in self.closures)
        return (*closures, *self.couplings)


def binary_tree(model: Model) -> BinaryTree:
    """The binary tree of a model, numbered as in WD89 section 2.1."""
    loops = [loop for loop in model.loops if isinstance(loop, Loop)]
    links = len(model.bodies)
    names = ["world", *(body.name for body in model.bodies), *(loop.name for loop in loops)]  # connectors follow
    located = ["world", *(joint.name for joint in model.joints), *(loop.name for loop in loops)]
    successor: dict[int, int] = {}
    connector: dict[int, int] = {}
    ends = list(range(links + 1))  # where a link's next connector hangs: the link, or its last connector so far

    def connect(link: int, joint: int) -> int:
        connector[ends[link]] = len(names)
        ends[link] = len(names)
        names.append(located[joint])
        return ends[link]

    for link, numbers in enumerate(_descendants(model, loops)):
        if numbers:
            successor[link] = numbers[0]
        for number in reversed(numbers[1:]):
            successor[connect(link, number)] = number
    closures = []
    for index in reversed(range(len(loops))):
        terminating = links + 1 + index
        closing = connect(model.frame(loops[index].frame_b).body + 1, terminating)
        closures.insert(0, Closure(loops[index].name, closing, terminating))
    couplings = tuple(_coupling(model, loop) for loop in model.loops if isinstance(loop, CoupledJoints))
    kinds: list[Kind] = [_kind(number, links, len(loops)) for number in range(len(names))]
    welds = {links + 1 + index for index, loop in enumerate(loops) if isinstance(loop.joint, Fixed)}
    return BinaryTree(model.name, _nodes(names, kinds, welds, successor, connector), tuple(closures), couplings)


def _descendants(model: Model, loops: list[Loop]) -> list[list[int]]:
    """The immediate descendants of links 0 … m: real links in order, then terminating links (on frame_a's body)."""
    lists: list[list[int]] = [[] for _ in range(len(model.bodies) + 1)]
    parents = [*model.parents, *(model.frame(loop.frame_a).body for loop in loops)]
    for number, parent in enumerate(parents, start=1):
        lists[parent + 1].append(number)
    return lists


def _kind(number: int, links: int, cuts: int) -> Kind:
    if number == 0:
        return "inertial"
    if number <= links:
        return "successor"
    return "terminating" if number <= links + cuts else "connector"


def _nodes(
    names: list[str], kinds: list[Kind], welds: set[int], successor: dict[int, int], connector: dict[int, int]
) -> tuple[Node, ...]:
    predecessor = {child: node for links in (successor, connector) for node, child in links.items()}
    return tuple(
        Node(
            number=i,
            kind=kind,
            name=name,
            variable=f"q{i}" if kind in ("successor", "terminating") and i not in welds else None,
            predecessor=predecessor.get(i),
            successor=successor.get(i),
            connector=connector.get(i),
        )
        for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )


def _coupling(model: Model, loop: CoupledJoints) -> str:
    """q_a = c0 + c1 q_b + c2 q_b^2 + …, as text; zero terms are left out."""
    driver = f"q{model.joint(loop.joint_b).body + 1}" if loop.joint_b is not None else ""
    powers = ["", driver, *(f"{driver}^{power}" for power in range(2, 5))]
    terms = [f"{c:g} {power}".strip() for c, power in zip(loop.joint.coefficients, powers, strict=False) if c != 0.0]
    return f"q{model.joint(loop.joint_a).body + 1} = {' + '.join(terms) or '0'}".replace("+ -", "- ")


def render(tree: BinaryTree) -> str:
    """The tree and its equations as text for a terminal.

    As in WD89's Fig. 1(b), ○ hangs a successor and ● a connector. Successors stand below their predecessor in the same
    column, connectors to the right of it, so that a serial arm is one column.
    """
    lines = [f"{tree.model}: {_count(tree)}", "", "0  inertial link"]
    # Depth first without recursion: (link, what precedes it on its line); connectors are taken before successors.
    waiting: list[tuple[int, str]] = [(number, "") for number in reversed(_downward(tree.nodes[0]))]
    while waiting:
        number, margin = waiting.pop()
        node = tree.nodes[number]
        below = margin
        if node.kind == "connector":
            continues = tree.nodes[node.predecessor or 0].successor is not None
            lines.append(f"{margin}{'├' if continues else '└'}─● {_label(node)}")
            below = margin + ("│  " if continues else "   ")
        else:
            lines.append(f"{margin}○ {_label(node)}")
        waiting += [(child, below) for child in reversed(_downward(node))]
    if tree.equations:
        lines += ["", *tree.equations]
    return "\n".join(lines)


def _downward(node: Node) -> tuple[int, ...]:
    """Immediate descendants in drawing order: the connector, then the successor."""
    return node.children[::-1]


def _count(tree: BinaryTree) -> str:
    kinds: tuple[Kind, ...] = ("successor", "terminating", "connector")
    counts = ((len(tree.of_kind(kind)), "real" if kind == "successor" else kind) for kind in kinds)
    return ", ".join(f"{count} {kind} link{'' if count == 1 else 's'}" for count, kind in counts)


def _label(node: Node) -> str:
    if node.kind == "connector":
        return f"{node.number}  connector to {node.name}"
    if node.kind == "terminating":
        return f"{node.number}  terminating link of {node.name}  {node.variable or ''}".rstrip()
    return f"{node.number}  {node.name}  {node.variable}"
