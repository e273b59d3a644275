"""Derivatives of a flow by its start and parameters."""
