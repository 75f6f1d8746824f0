"""Models: layer combinations, bodies and outputs."""
