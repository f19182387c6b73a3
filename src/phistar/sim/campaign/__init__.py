"""Many runs of one scene: planned, spread over processes or machines, kept as they come, and counted."""
