"""An event-driven run gone through a second time, by other means than it was solved by."""
