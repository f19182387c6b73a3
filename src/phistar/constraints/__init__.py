"""Constraints as row blocks of one kind (Jacobian, law, memory), and the convex step that solves them all."""
