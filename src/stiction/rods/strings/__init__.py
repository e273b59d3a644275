"""Two strings in rolling contact at one moving point: characteristics, and modal expansion."""
