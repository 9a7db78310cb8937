"""Configurations for `accelerate launch --config_file`, each with a comment that says when to take it."""
