"""SDF: `load.py` puts a model together from what `scope.py` (models, links, joints, frames) and `values.py` read."""
