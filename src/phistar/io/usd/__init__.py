"""USD stages with rigid bodies and joints (UsdPhysics)."""
