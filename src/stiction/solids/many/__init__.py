"""Contact among many bodies: broad phase, pair activation, continuous collision detection."""
