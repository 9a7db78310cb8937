"""What a machine has and what a training needs: versions, devices, memory for each way of sharding."""

from .layouts import Layout, current_layout, read_layout, shipped_layouts
from .memory import GIB, Job, Lora, Rollouts, estimate
from .plan import Plan, job_of, make_plan, usual_machine
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
    "current_layout",
    "estimate",
    "job_of",
    "make_plan",
    "read_layout",
    "shape_of",
    "shipped_layouts",
    "usual_machine",
]
