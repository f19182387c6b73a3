"""Motion over time: `rollout` for many states at fixed steps, `simulate` for one state to a tolerance."""
