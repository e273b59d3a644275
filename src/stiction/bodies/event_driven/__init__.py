"""Event-driven dynamics of rigid bodies: smooth motion between located events."""
