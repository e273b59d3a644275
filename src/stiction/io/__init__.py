"""Files: scenarios in TOML, and saved runs, which are written completely or not at all."""
