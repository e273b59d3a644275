"""Many chains that differ in a few numbers, solved in one call of compiled code."""
