"""Comparing ways of training: a matrix of recipes over seeds, from one YAML to one page.

matrix    the YAML: cells, each a chain of recipes, and what they share
plan      the runs that a matrix needs: each chain's stages once for every seed, with their command lines
checking  every configuration, tried before anything starts
running   the runs one after the other, each in its own process; what is finished stays, what fails is told
report    finished runs -> `compare.md`, `.html`, `.csv` and pictures (`riftk.report.several`)
"""
