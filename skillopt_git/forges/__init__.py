"""Doors to where proposals are reviewed, one file a forge."""
