"""URDF: `load.py` puts a model together from what `links.py`, `joints.py` and `tree.py` read."""
