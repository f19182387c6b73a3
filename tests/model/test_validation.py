"""What no mechanism can be is refused with a sentence that names the part."""

import numpy as np
import pytest

import phistar as ps

LUMP = ps.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
IMPOSSIBLE = ps.Inertia.unchecked(1.0, (0, 0, 0), np.diag([0.1, 0.1, -0.1]))
TURN = ps.Revolute()


def told(*calls):
    """A builder after these calls: (method, arguments, keywords)."""
    b = ps.ModelBuilder("robot")
    for name, arguments, keywords in calls:
        getattr(b, name)(*arguments, **keywords)
    return b


def body(name, parent="world", joint=TURN, inertia=LUMP, **keywords):
    return "body", (name, parent, joint), {"inertia": inertia, **keywords}


def refused(calls, *words, error=ps.ModelError):
    with pytest.raises(error) as caught:
        told(*calls).build()
    text = str(caught.value)
    assert text.endswith((".", "?")) and all(word in text for word in words), text


def test_cycles_are_named():
    refused([body("a", "c"), body("b", "a"), body("c", "b")], "'a' → 'c' → 'b' → 'a'", "cycle")
    refused([body("a", "a")], "'a' → 'a'")
    refused([body("root"), body("leaf", "a"), body("a", "b"), body("b", "a")], "'a' → 'b' → 'a'")


def test_unknown_parents_are_named_with_the_nearest():
    refused([body("upper_arm"), body("hand", "uper_arm")], "hand", "uper_arm", "upper_arm", error=ps.UnknownNameError)


def test_frames_and_shapes_on_unknown_bodies_are_refused():
    refused([body("arm"), ("frame", ("tool", "amr"), {})], "amr", "'arm'", error=ps.UnknownNameError)
    shape = ps.Geometry(ps.Sphere(0.1))
    refused([body("arm"), ("geometry", ("amr", shape), {})], "amr", "'arm'", error=ps.UnknownNameError)


def test_frames_on_each_other_are_refused():
    refused([("frame", ("a", "b"), {}), ("frame", ("b", "a"), {})], "'a'", "'b'", "on each other")


def test_duplicate_names_are_refused():
    refused([body("a"), body("a")], "two bodies called 'a'")
    refused([body("a", joint_name="j"), body("b", joint_name="j")], "two joints called 'j'")
    refused([body("a"), ("frame", ("a", "a"), {})], "two frames called 'a'")
    refused([("frame", ("a", "world"), {}), ("frame", ("a", "world"), {})], "two frames called 'a'")


def test_the_worlds_name_is_taken():
    refused([body("world")], "'world'")
    refused([body("a"), ("frame", ("world", "a"), {})], "'world'")


@pytest.mark.parametrize("name", ["", None, 3])
def test_names_are_text(name):
    refused([body(name)], "needs a name")


def test_cut_joints_cannot_carry_bodies():
    for joint in (ps.Cylindrical(), ps.Distance(1.0), ps.Coupling()):
        refused([body("a", joint=joint)], "'a'", type(joint).__name__, "loop")


@pytest.mark.parametrize(
    ("keywords", "word"),
    [
        ({"joint": "revolute"}, "a joint"),
        ({"inertia": 3.0}, "an Inertia"),
        ({"placement": (0, 0, 1)}, "a Pose"),
        ({"offset": (0, 0, 1)}, "a Pose"),
        ({"geometry": [ps.Sphere(1.0)]}, "Geometry"),
    ],
)
def test_parts_of_the_wrong_kind_are_refused(keywords, word):
    refused([body("a", **keywords)], "'a'", word)


@pytest.mark.parametrize("gravity", [(0, 0, np.nan), (0, 0), "down"])
def test_gravity_is_three_finite_numbers(gravity):
    with pytest.raises(ps.ModelError, match="gravity"):
        ps.ModelBuilder("robot", gravity=gravity).build()


def test_an_impossible_inertia_is_refused_and_named():
    refused([body("ok"), body("bad", "ok", inertia=IMPOSSIBLE)], "'bad'", "indefinite")


def test_an_impossible_inertia_of_a_fixed_body_is_named_too():
    refused([body("ok"), body("bad", "ok", joint=ps.Fixed(), inertia=IMPOSSIBLE)], "'bad'", "indefinite")


def test_unphysical_files_warn_when_not_strict():
    model = told(body("ok"), body("bad", "ok", inertia=IMPOSSIBLE)).build(strict=False)
    assert len(model.warnings) == 1 and "'bad'" in model.warnings[0] and "indefinite" in model.warnings[0]
    assert model.bodies[1].inertia == IMPOSSIBLE


def massless(name, parent="world", joint=TURN, **keywords):
    return body(name, parent, joint, ps.Inertia.zero(), **keywords)


def test_a_joint_with_no_inertia_behind_it_is_named():
    refused([body("arm"), massless("flag", "arm", joint_name="flagpole")], "'flagpole'", "'flag'", "no inertia")
    refused([massless("flag", joint=ps.Free())], "'flag'")
    refused([massless("flag", joint=ps.Prismatic())], "'flag'")


def test_a_point_mass_on_the_axis_does_not_count():
    refused([body("a", inertia=ps.Inertia(1.0, (0, 0, 0.3)))], "Joint 'a'")
    refused([body("a", joint=ps.Free(), inertia=ps.Inertia(1.0, (0.1, 0.2, 0.3)))], "Joint 'a'")
    refused([body("a", joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0.1, 0.2, 0.3)))], "Joint 'a'")


def test_two_joints_on_one_axis_share_no_inertia():
    refused([massless("inner"), body("outer", "inner")], "Joint 'inner'")


def test_mass_behind_an_unmovable_joint_still_loads_the_joints_before_it():
    point = ps.Inertia(1.0, (0, 0, 0.3))
    model = told(massless("slide", joint=ps.Prismatic()), body("spin", "slide", inertia=point)).build(strict=False)
    assert len(model.warnings) == 1 and "Joint 'spin'" in model.warnings[0]


def test_massless_intermediate_links_are_legal():
    """Three massless gimbals before the body: only the last inertia counts."""
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    calls = [
        massless(f"gimbal{k}", f"gimbal{k - 1}" if k else "world", ps.Revolute(axis=axis))
        for k, axis in enumerate(axes)
    ]
    calls.append(body("load", "gimbal2", ps.Prismatic(axis=(1, 1, 1))))
    assert told(*calls).build().nv == 4


def test_armature_counts_as_inertia():
    assert told(body("arm"), massless("flag", "arm", ps.Revolute(armature=1e-3))).build().nv == 2
    assert told(massless("flag", joint=ps.Revolute(gear_ratio=10, rotor_inertia=1e-5))).build().nv == 1


def test_small_parts_of_heavy_robots_count():
    finger = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 1e-11)
    assert told(
        body("truck", joint=ps.Free(), inertia=ps.Inertia(1e4, (0, 0, 0), np.eye(3) * 1e4)),
        body("f", "truck", inertia=finger),
    ).build()


def test_every_unmovable_joint_is_a_warning_when_not_strict():
    model = told(body("arm"), massless("f1", "arm"), massless("f2", "arm")).build(strict=False)
    assert ["'f1'" in model.warnings[0], "'f2'" in model.warnings[1], len(model.warnings)] == [True, True, 2]


def test_long_lists_of_faults_are_cut_short():
    calls = [massless(f"f{k}") for k in range(10)]
    refused(calls, "'f0'", "'f2'", "7 more faults")


def test_deep_chains_are_checked_without_recursion():
    b = ps.ModelBuilder("deep")
    for k in reversed(range(5000)):
        b.body(f"b{k}", f"b{k - 1}" if k else "world", TURN, ps.Pose(xyz=(0.1, 0, 0)), LUMP)
    assert b.build().is_serial
