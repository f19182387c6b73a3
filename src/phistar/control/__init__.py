"""Control: task coordinates, trajectories, inverse kinematics, the laws, and what to watch while they run."""
