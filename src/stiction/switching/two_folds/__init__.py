"""Two-folds: search, classification, continuation in parameters, and the local flow."""
