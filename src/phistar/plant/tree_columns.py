"""Columns of the tables of trees, and how the compiled step calls their kernels."""

from __future__ import annotations

AT_STATE, MOVED, TAKEN_BACK, STRUCK = range(1, 5)  # what trees are asked for

# `tree_wholes`: where a tree's coordinates begin in `tree_q`, how many they are, the calls of its kernels
TREE_Q, TREE_NQ, STATE_CALL, AFTER_CALL = 0, 1, 2, 4
TREE_WHOLES = 6
# `loop_wholes`, a row for every group of loops that hold the same trees together: the call of its kernel (0: there is
# none); in the first one also the first row of closures, coordinates of all groups and entries of Jacobians
LOOP_FIRST, LOOP_COORDINATES, LOOP_ENTRIES, LOOP_CALL = 0, 1, 2, 3
LOOP_WHOLES = 5
# `modal_wholes`: two rates of a body that bends; `modal_numbers`: what its stiffness and damping have between them;
# `modal_start`: where a node's begin
MODAL_STIFFNESS, MODAL_DAMPING = 0, 1


def ask(address: int, given: int) -> int:
    """The kernel of a call (`backends/kernel_calls.py`), on the tables it was made for."""
    raise NotImplementedError(address, given)
