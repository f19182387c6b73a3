"""URDF: `load_urdf.py` puts a model together from what `urdf_links.py`, `urdf_joints.py` and `urdf_tree.py` read."""
