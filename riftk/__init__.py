"""riftk: measure, train and compare how well reasoning models obey instructions.

One constraint engine (`riftk.constraints`) and one grader (`riftk.grading`) serve synthesis
(`riftk.data_synth`), training (`riftk.rewards`) and evaluation (`riftk.evaluation`).
"""

__version__ = "0.1.0"
