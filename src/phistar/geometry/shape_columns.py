"""Columns of the tables of shapes that the compiled narrow phase reads."""

from __future__ import annotations

# Kinds of shapes: balls and capsules, boxes, half-spaces, convex hulls of points
ROUND, BLOCK_SHAPE, HALFSPACE, HULL = range(4)

# `shape_wholes`: the kind, the body (−1: the world) and node, the first point of a hull
# and their number, and the group, whose pairs `meets` looks up
KIND, SHAPE_BODY, SHAPE_NODE, POINT_FIRST, POINT_COUNT, GROUP = range(6)
SHAPE_WHOLES = 6

# `shapes`: rotation and place on the body; radius and half length, or half sides; the reach; friction, restitution,
# the material's margin, time constant, damping, the mass behind it, strength, and the largest margin that acts on it
TURN, PLACE, SIZES, REACH = 0, 9, 12, 15
SHAPE_FRICTION, SHAPE_RESTITUTION, SHAPE_MARGIN, SHAPE_TIME, SHAPE_DAMPING, SHAPE_MASS, SHAPE_STRENGTH = range(16, 23)
SHAPE_FARTHEST = 23
SHAPE_FLOATS = 24
