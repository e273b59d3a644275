"""Two-folds: found, classified, followed as parameters change, and the flow near them."""
