"""Nights with a real, small model: recorded once, and recomputed from the recording wherever tests run."""
