"""Linear systems over time: the axis STEPS as a chain of links, and Riccati's equation swept along it."""
