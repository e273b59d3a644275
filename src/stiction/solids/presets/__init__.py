"""Systems of the literature with their parameters: strip, cylinders, cap and tape."""
