"""Springs and hinges between rigid bodies."""
