"""Columns of the tables that the compiled step works on: nodes, contacts and single rows.

A node is what moves by itself: a free body, with six rates ([ω; v] of its centre of mass, world axes), or a tree of
joints, with the rates of its model. `v` and its like have the nodes' rates one after the other.
"""

from __future__ import annotations

# Nodes, whole numbers: unknowns n of the solve, where they begin in v, where the n×n block begins in `mass`, the first
# body, whether it is a tree, and whether a contact or row acts on it; its own rates, and where they begin: the unknowns
# but for a long tree (LONG, its number + 1) that is solved in the span of what touches it, of so many directions
SIZE, AT, BLOCK, BODY, TREE, TOUCHED, OWN, OWN_AT, LONG, SPANNED, CONVERGED_NODE = range(11)
NODE_WHOLES = 11

# Contacts, whole numbers: shapes, bodies and nodes of either side (−1: the world), where their Jacobians begin
SHAPE_A, SHAPE_B, BODY_A, BODY_B, NODE_A, NODE_B, JAC_A, JAC_B, ISLAND, KEPT = range(10)
CONTACT_WHOLES = 10

# Contacts, floats: the gap, the point between, the normal from b to a and two tangents
GAP, POINT, NORMAL, TANGENT, SIDEWAYS = 0, 1, 4, 7, 10
# The law: margin ε, strength K_p (N), damping α (s/m), friction μ, bristles' stiffness and damping, restitution,
# damping K_d (N s/m), the radius of a soft finger's patch (m), and whether the law is as WD89 prints it
MARGIN, STRENGTH, DAMPING, FRICTION, BRISTLE, BRISTLE_DAMPING, RESTITUTION, LINEAR, PATCH, PRINTED = range(13, 23)
LAW_FLOATS = 10
# What it remembers: the bristle in world axes, the twist of a patch, how much an overlap at the start lengthens the gap
BENT, TWIST, OFFSET = 23, 26, 27
# The solve: impulses along t, s, n and about n; rates; the Hessian's entries (tt, ts, ss, nn, about n); the limit of
# friction; rates of the direction
IMPULSE, RATE, HESSIAN, LIMIT, CHANGE, BEFORE = 28, 32, 36, 41, 42, 46
SAVED, SAVED_TWIST = 47, 50  # bristle and twist before the step
DUAL, GUESS = 51, 52  # the estimate of the normal impulse in Newton's method, and with what it begins
CONTACT_FLOATS = 53

# Single rows, whole numbers: the law, nodes, rates (−1: a whole Jacobian), where Jacobians begin, the island
# and, of a row on a rate of a long tree, whether its law is part of the tree's own block (`tree_span.py`)
LAW, ROW_NODE_A, ROW_NODE_B, ROW_RATE, ROW_JAC_A, ROW_JAC_B, ROW_ISLAND, ROW_Q, ROW_ASLEEP = range(9)
ROW_WHOLES = 9
LIMIT_LAW, DRY_LAW, SERVO_LAW, EQUAL_LAW = range(4)

# Single rows, floats. Limit: gap, margin, strength (N or N m), damping. Dry friction: bounds − and +, bristle stiffness
# and damping. Servo: error now, stiffness, damping, the rate wanted, bounds. Equality: error, stiffness, damping.
VALUE, FIRST, SECOND, THIRD, LOW, HIGH = range(6)
MEMORY, ROW_IMPULSE, ROW_SPEED, ROW_HESSIAN, ROW_CHANGE, SIGN, BOUND = range(6, 13)  # BOUND: of q, or what it is to be
ROW_FLOATS = 14

# `counts`, whole numbers
NODES, CONTACTS, ROWS, ISLANDS, ROOM, ROOM_BLOCKS, ROOM_PAIRS, BLOCKS, JACS = range(9)
SHAPES, PLANES, PAIRS, BEFORE_CONTACTS, FULL, ITERATIONS, SUBSTEPS, FAILED, IMPACTS, RATES, FIRST_TREE = range(9, 20)
GROUPS, READY, STRIDE, BODIES, REDRIVEN = range(20, 25)
# Whether to report steps, places of contact in the last part, pairs that met, whether a call only looks, and how many
# limits of joints push in the last part; whether long trees are to be solved in all their rates; how often ℳ and a span
# of long trees were made, and how many of these and of ball joints on springs there are
TELLING, PLACES, MET, LOOKING, STOPPED, WHOLE, BLOCKS_MADE, SPANS_MADE, LONG_TREES, BALLS = range(25, 35)
WIDEST = 35  # rates of the largest tree: the length of a row of `screw_of`
LOOP_GROUPS = 36  # of loops, each of which has a kernel
JOINS = 37  # whether the books of a step go on from those of the one before
COUNTS = 38

# `numbers`, floats
STEP, RESIDUAL, WORST, NEAREST, LENGTH, GRAVITY, SETTLED = 0, 1, 2, 3, 4, 5, 8
SLOWEST, ELAPSED = 9, 10
# Books of a step: work by the mean rates, what implicit steps lose of it, the impulse on free trees from outside
WORK, LOSS, OUTSIDE = 11, 12, 13
# The same of its part that is being made
PART_WORK, PART_LOSS, PART_OUTSIDE = 19, 20, 21
NUMBERS = 28

# Places of contact in a step's last part: the point, the impulse on shape a in world axes, that along the normal, that
# about it times the normal, whether it slides, when it began, the part's length
PLACE_POINT, PLACE_IMPULSE, PLACE_NORMAL, PLACE_TURN, PLACE_SLIDES, PLACE_WHEN, PLACE_LENGTH = 0, 3, 6, 7, 10, 11, 12
PLACE_FLOATS = 13

# Pairs of shapes that met in a step: the impulse on a about the world's origin, that along normals, the largest force
# of one place, when they met first, and force along normals and whether a place slid in the last part
MET_IMPULSE, MET_NORMAL, MET_PEAK, MET_WHEN, MET_LAST, MET_SLIDES = 0, 6, 7, 8, 9, 10
MET_FLOATS = 11
