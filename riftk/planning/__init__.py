"""What a machine has and what a training needs: versions, devices, memory for each way of sharding."""

from .layouts import Layout, read_layout, shipped_layouts
from .memory import GIB, Job, Lora, Rollouts, estimate
from .plan import Plan, make_plan, usual_machine
from .shapes import SHAPES, Shape, shape_of

__all__ = [
    "GIB",
    "SHAPES",
    "Job",
    "Layout",
    "Lora",
    "Plan",
    "Rollouts",
    "Shape",
    "estimate",
    "make_plan",
    "read_layout",
    "shape_of",
    "shipped_layouts",
    "usual_machine",
]
