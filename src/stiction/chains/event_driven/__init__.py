"""Implementation of `EventDriven`: Taylor series of the motion, event localisation, records."""
