"""MJCF: `load_mjcf.py` says in which order the others read a file, through the compiler of MuJoCo."""
