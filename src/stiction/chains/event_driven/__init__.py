"""Inside `EventDriven`: series of the motion, steps from event to event, records."""
