"""Two-folds: search, classification, continuation in parameters, and the flow around them."""
