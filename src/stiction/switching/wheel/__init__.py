"""The wheel on a turntable: its flow, two-folds, the line h = g = 0, a tyre that remembers."""
