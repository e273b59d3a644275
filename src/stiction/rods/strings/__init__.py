"""Two strings in rolling contact at one moving point: exact characteristics, and strands."""
