"""Runnable recipes: `accelerate launch recipes/rif.py`, or `-m riftk.recipes.rif` from a wheel."""
