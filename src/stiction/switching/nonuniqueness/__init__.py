"""Losses of uniqueness: the admissible continuations, and which of them a policy chooses."""
