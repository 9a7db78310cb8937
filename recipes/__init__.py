"""Runnable recipes: `accelerate launch recipes/rif.py`, or `accelerate launch -m riftk.recipes.rif` from a wheel."""
