"""Pure mathematics that two or more systems need; no word of mechanics."""
