"""An order desk that looks fine on a lucky run."""

from . import agent

__all__ = ["agent"]
