"""SDF: `load_sdf.py` puts a model together from what `scope.py` (models, links, joints, frames) and `sdf_values.py`
read."""
