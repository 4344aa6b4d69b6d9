"""What makes a comparison fail. On its own, so that the command line knows the names without the rest."""

from __future__ import annotations

from enum import StrEnum


class Gate(StrEnum):
    """What a comparison fails for. `noise-excluded` fails least often, `any-drop` most."""

    REGRESSION = "regression"
    """Any regression."""
    ANY_DROP = "any-drop"
    """Any verdict, pass rate or score that is worse, and any case that passed and is gone."""
    NOISE_EXCLUDED = "noise-excluded"
    """A regression that is more than noise, of a case or of the suite."""
