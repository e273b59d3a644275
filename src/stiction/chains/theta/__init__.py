"""Inside the theta schemes: one step with exact or smoothed friction, and the march."""
