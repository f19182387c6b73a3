"""Worked scenarios: each registers its laws, its tasks and its scene files."""

from phistar.apps import grapple as grapple
