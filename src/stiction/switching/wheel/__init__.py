"""The wheel on a turntable: its flow, its two-folds, the line h = g = 0, and a dynamic tyre."""
