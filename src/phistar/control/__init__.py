"""Control: task coordinates, trajectories, inverse kinematics, the laws themselves, and what to watch while they run."""
