"""Phrases and numbers that instructions are made with, none of them a benchmark's."""

from __future__ import annotations

# Many, so that copying is learnt and not a phrase; ReasonIF's six are not among them.
END_PHRASES = (
    *(
        f"THIS {noun} {verb} BY {author}"
        for noun in (
            "REASONING",
            "EXPLANATION",
            "ANALYSIS",
            "ARGUMENT",
            "DERIVATION",
            "SOLUTION",
            "CHAIN OF THOUGHT",
        )
        for verb in ("WAS WRITTEN", "HAS BEEN PREPARED", "WAS PUT TOGETHER", "WAS THOUGHT OUT")
        for author in ("AI", "A MODEL", "A MACHINE")
    ),
    "That is the end of my reasoning",
    "This concludes the analysis",
    "Nothing more needs to be said",
    "My thinking stops here",
    "End of the chain of thought",
    "All steps are done",
    "I have finished thinking",
    "No further steps follow",
    "Here the reasoning is complete",
    "And that is how I got there",
    "The rest is in the answer",
    "I am done with this problem",
)
BULLETS = HIGHLIGHTS = SECTIONS = (2, 6)  # fewest and most
CAPITAL_WORDS = (2, 8)
SLACK = (1, 6)  # capital words that "less than" leaves room for
