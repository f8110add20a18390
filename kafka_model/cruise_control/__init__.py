"""Cruise Control's goals on a cluster, and the smallest reassignment that satisfies them."""
