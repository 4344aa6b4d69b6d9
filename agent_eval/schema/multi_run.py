"""How often a case runs, and how its runs become a verdict."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from agent_eval.schema.base import Value


class CrossRunMethod(StrEnum):
    """How the runs of a case become one score of a metric."""

    MEAN_OVER_INVOCATIONS = "mean_over_invocations"
    """The mean of every turn of every scored run, against the criterion's threshold."""
    MIN_OVER_RUNS = "min_over_runs"
    """The worst run, against the criterion's threshold."""
    PASS_RATE = "pass_rate"
    """The share of scored runs that met the criterion, against a threshold of its own."""


Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)]


class CrossRunScoring(Value):
    """The method of one metric; written as its name or as an object."""

    method: CrossRunMethod = CrossRunMethod.MEAN_OVER_INVOCATIONS
    threshold: Share | None = None
    """For `pass_rate`: the share of runs that must pass; every one if not given."""

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, data: object) -> object:
        return {"method": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _threshold_fits(self) -> Self:
        if self.method is not CrossRunMethod.PASS_RATE and self.threshold is not None:
            raise PydanticCustomError(
                "threshold_without_rate",
                "`{method}` is held against the criterion's own threshold and takes none here",
                {"method": self.method.value},
            )
        return self

    @property
    def pass_rate(self) -> float:
        """The share of runs that must pass under `pass_rate`."""
        return 1.0 if self.threshold is None else self.threshold


def _pass_rate(value: object) -> object:
    """`{"pass_rate": t}`, `{"method": "pass_rate", "threshold": t}` and `t` mean the same."""
    if isinstance(value, dict):
        if value.keys() == {"pass_rate"}:
            return value["pass_rate"]
        if value.get("method") == CrossRunMethod.PASS_RATE and value.keys() == {"method", "threshold"}:
            return value["threshold"]
        raise PydanticCustomError("pass_rate_form", "expected an object with `pass_rate` alone, or a number")
    return value


class MultiRunConfig(Value):
    """How often each case runs, and how its runs become a verdict."""

    num_runs: int = Field(1, ge=1, strict=True)
    max_crashed_runs: int = Field(0, ge=0, strict=True)
    """More crashed runs than this fail the case."""
    cross_run_scoring_by_metric: dict[str, CrossRunScoring] = {}
    cross_run_criteria: Annotated[Share, BeforeValidator(_pass_rate)] | None = None
    """The share of scored runs in which every thresholded metric must pass together."""

    def scoring(self, metric_name: str) -> CrossRunScoring:
        """The method of a metric; the mean over invocations where none is named."""
        return self.cross_run_scoring_by_metric.get(metric_name, CrossRunScoring())
