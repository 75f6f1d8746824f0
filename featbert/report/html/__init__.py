"""A comparison as one HTML file without external references."""
