"""Models, shapes, actuators and sensors as one system with one step."""
