"""Benchmark of phistar and its peers, side by side in one run on this machine: `phistar bench`.

Read in this order: `robots.py`, `benchmark_tasks.py` and `benchmark_plan.py` (what is compared), `timing.py` (how),
`peer_pinocchio.py` and `peer_mujoco.py` (with whom), `peak.py` and `start.py` (the core's peak; first and cached
calls), `measure.py` (a run), `targets.py` and `benchmark_report.py` (what it should reach, and what it says), `page.py`
and `plot.py` (how it is shown).
"""
