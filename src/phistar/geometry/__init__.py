"""Shapes, the pairs of them that may be near, and how far they are apart: loops that are compiled with the step."""
