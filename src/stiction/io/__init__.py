"""Files: scenarios in TOML, and saved runs, which are written atomically."""
