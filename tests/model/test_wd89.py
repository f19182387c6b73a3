"""WD89's binary tree: the paper's Fig. 1, and its rules on any mechanism."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import phistar as ps
from phistar.io.bundled import load_bundled
from phistar.model.wd89 import BinaryTree, binary_tree, render

FIG_1 = """\
wd89_fig1: 7 real links, 2 terminating links, 4 connector links

0  inertial link
├─● 10  connector to joint6
│  ├─● 11  connector to joint4
│  │  ○ 4  link4  q4
│  │  ○ 5  link5  q5
│  │  ○ 8  terminating link of joint8  q8
│  ○ 6  link6  q6
│  ○ 7  link7  q7
│  ○ 9  terminating link of joint9  q9
○ 1  link1  q1
├─● 13  connector to joint8
○ 2  link2  q2
├─● 12  connector to joint9
○ 3  link3  q3

T_0^1(q1) T_1^13 = T_0^10 T_10^11 T_11^4(q4) T_4^5(q5) T_5^8(q8)
T_0^1(q1) T_1^2(q2) T_2^12 = T_0^10 T_10^6(q6) T_6^7(q7) T_7^9(q9)"""


@pytest.fixture(scope="module")
def figure() -> BinaryTree:
    return binary_tree(load_bundled("wd89_fig1"))


def test_fig_1_has_links_1_to_7_terminating_8_and_9_connectors_10_to_13(figure):
    assert figure.of_kind("inertial") == (0,)
    assert figure.of_kind("successor") == (1, 2, 3, 4, 5, 6, 7)
    assert figure.of_kind("terminating") == (8, 9)
    assert figure.of_kind("connector") == (10, 11, 12, 13)


def test_fig_1_hangs_together_as_in_the_paper(figure):
    children = {node.number: (node.successor, node.connector) for node in figure.nodes if node.children}
    ground = {0: (1, 10), 10: (6, 11), 11: (4, None)}
    arm, left, right = {1: (2, 13), 2: (3, 12)}, {4: (5, None), 5: (8, None)}, {6: (7, None), 7: (9, None)}
    assert children == ground | arm | left | right


def test_fig_1_prints_equations_8_and_9(figure):
    assert figure.equations == (
        "T_0^1(q1) T_1^13 = T_0^10 T_10^11 T_11^4(q4) T_4^5(q5) T_5^8(q8)",
        "T_0^1(q1) T_1^2(q2) T_2^12 = T_0^10 T_10^6(q6) T_6^7(q7) T_7^9(q9)",
    )


def test_fig_1_is_drawn_with_white_successors_and_solid_connectors(figure):
    assert render(figure) == FIG_1


def mechanism(parents: list[int], loops: list[tuple[int, int]]) -> ps.Model:
    """Bodies b0 … on these parents (−1 is the world), each with a frame, and revolute cut joints between bodies."""
    builder = ps.ModelBuilder("mechanism")
    builder.frame("at-1", "world")
    for index, parent in enumerate(parents):
        name = f"b{parent}" if parent >= 0 else "world"
        builder.body(
            f"b{index}", parent=name, joint=ps.Revolute(), inertia=ps.Inertia(1, (1, 0, 0)), joint_name=f"j{index}"
        )
        builder.frame(f"at{index}", f"b{index}")
    for index, (a, b) in enumerate(loops):
        builder.loop(f"cut{index}", f"at{a}", f"at{b}", joint=ps.Revolute())
    return builder.build()


@st.composite
def mechanisms(draw) -> ps.Model:
    count = draw(st.integers(1, 8))
    parents = [draw(st.integers(-1, index - 1)) for index in range(count)]
    pairs = st.tuples(st.integers(-1, count - 1), st.integers(-1, count - 1)).filter(lambda pair: pair[0] != pair[1])
    return mechanism(parents, draw(st.lists(pairs, max_size=4)))


def real_predecessor(tree: BinaryTree, number: int) -> int:
    """The nearest link above that is not a connector."""
    above = tree.nodes[number].predecessor
    assert above is not None
    while tree.nodes[above].kind == "connector":
        above = tree.nodes[above].predecessor
        assert above is not None
    return above


@given(mechanisms())
def test_links_are_numbered_real_then_terminating_then_connectors(model):
    tree = binary_tree(model)
    m, r = len(model.bodies), len(model.loops)
    assert [node.number for node in tree.nodes] == list(range(len(tree.nodes)))
    assert tree.of_kind("successor") == tuple(range(1, m + 1))
    assert tree.of_kind("terminating") == tuple(range(m + 1, m + r + 1))
    assert tree.of_kind("connector") == tuple(range(m + r + 1, len(tree.nodes)))
    assert [node.variable for node in tree.nodes[1 : m + r + 1]] == [f"q{i}" for i in range(1, m + r + 1)]


@given(mechanisms())
def test_every_link_hangs_once_as_successor_or_as_connector(model):
    tree = binary_tree(model)
    children = [child for node in tree.nodes for child in node.children]
    assert sorted(children) == list(range(1, len(tree.nodes)))
    for node in tree.nodes:
        if node.successor is not None:
            assert tree.nodes[node.successor].kind in ("successor", "terminating")
        if node.connector is not None:
            assert tree.nodes[node.connector].kind == "connector"
        for child in node.children:
            assert tree.nodes[child].predecessor == node.number


@given(mechanisms())
def test_without_connectors_the_tree_is_the_models(model):
    tree = binary_tree(model)
    for index, parent in enumerate(model.parents):
        assert real_predecessor(tree, index + 1) == parent + 1


@given(mechanisms())
def test_a_loop_ends_on_frame_a_and_closes_on_frame_b(model):
    tree = binary_tree(model)
    assert [closure.name for closure in tree.closures] == [loop.name for loop in model.loops]
    for closure, loop in zip(tree.closures, model.loops, strict=True):
        assert real_predecessor(tree, closure.terminating) == model.frame(loop.frame_a).body + 1
        assert real_predecessor(tree, closure.connector) == model.frame(loop.frame_b).body + 1
        assert not tree.nodes[closure.connector].successor


@given(mechanisms())
def test_every_link_is_drawn_once(model):
    tree = binary_tree(model)
    drawing = render(tree).split("\n\n")[1].splitlines()
    numbers = [line.lstrip("│├└─○● ").split()[0] for line in drawing]
    assert sorted(map(int, numbers)) == list(range(len(tree.nodes)))


def test_a_long_arm_is_one_column():
    tree = binary_tree(ps.chain(3000))
    lines = render(tree).splitlines()
    assert len(lines) == 2 + 3001
    assert max(map(len, lines)) < 80


def test_a_weld_has_no_variable_and_a_coupling_is_an_equation():
    builder = ps.ModelBuilder("coupled")
    for name in ("a", "b", "c"):
        builder.body(name, joint=ps.Revolute(), inertia=ps.Inertia(1, (1, 0, 0)), joint_name=f"{name}_joint")
    builder.loop("weld", "a", "b", joint=ps.Fixed())
    builder.loop("gear", "c_joint", "a_joint", joint=ps.Coupling((0.5, -2)))
    builder.loop("cam", "b_joint", "a_joint", joint=ps.Coupling((0, 0, 3)))
    builder.loop("stop", "c_joint", None, joint=ps.Coupling((0,)))
    tree = binary_tree(builder.build())
    assert tree.of_kind("terminating") == (4,)
    assert tree.nodes[4].variable is None
    assert tree.equations == (
        "T_0^5 T_5^6 T_6^2(q2) T_2^7 = T_0^1(q1) T_1^4",
        "q3 = 0.5 - 2 q1",
        "q2 = 3 q1^2",
        "q3 = 0",
    )


def test_a_branching_robot_has_a_connector_for_each_further_branch():
    tree = binary_tree(load_bundled("freeflyer"))
    assert [tree.nodes[number].name for number in tree.of_kind("connector")] == ["right_joint1"]
    assert tree.product(14) == "T_0^1(q1) T_1^14"
