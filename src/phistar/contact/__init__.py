"""Contact: near places between convex shapes, forces that keep them apart, and friction that holds."""
