"""Inside `Quasistatic`: loads cut at their turns, modes, branches, records."""
