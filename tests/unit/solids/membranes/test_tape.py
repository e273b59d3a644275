"""The peeled tape: statements of the paper, the closed form of the steady peel, bad input."""
