"""Whether questions kept back gain, and what would help where they do not."""

from __future__ import annotations

from collections.abc import Sequence

from conclave_train.errors import NoGainError
from conclave_train.progress import say

FEW_HELD = 50  # questions kept back, below which chance decides much
FEW = 500  # questions to learn from, below which more of them help most


def check_gain(before: float, after: float, told: str, held: int, advice: str, quiet: bool) -> None:
    """Raise an error where ``held`` questions kept back lose; where they gain nothing, say so.

    ``told`` has the figures before and after.
    """
    if after < before:
        raise NoGainError(f"the {held:,} questions kept back lose ({told}): nothing is written. {advice}")
    if after == before and not quiet:
        say(f"the {held:,} questions kept back gain nothing ({told}). {advice}")


def advise(helps: Sequence[str], count: int, held: int | None) -> str:
    """What would help: first what is known of this run, then what of any that learned from ``count`` questions and was
    judged by ``held`` (None: by nothing yet)."""
    said = list(helps)
    if count < FEW:
        said.append(f"more questions: {count:,} are few, some thousand are usual")
    if held is not None and held < FEW_HELD:
        said.append(f"a larger --hold-out: {held} questions kept back tell a gain from chance only where it is large")
    said.append("marked passages (positive_ids) and conclave-train expert")
    return "What would help: " + "; ".join(said)
