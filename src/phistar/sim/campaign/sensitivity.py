"""Sensitivity: which of the numbers that were drawn or varied have to do with failures, and with a run's score.

Failures: the distance between the distributions of a number over good and over failed runs (Kolmogorov and Smirnov's
statistic, as in regional sensitivity analysis; Hornberger and Spear 1981). Score: the part of its variance that lies
between classes of the number (the correlation ratio η²), less what chance alone gives; unlike a correlation it sees
effects that rise and fall again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.sim.campaign.perform import GOOD
from phistar.sim.campaign.run_rows import Row

FEWEST = 4  # runs, and failures, below which nothing is said
CLASSES = 8
DRAWN = ("drawn.", "varied.")


def ranking(rows: Sequence[Row], score: str) -> list[Mapping[str, Any]]:
    """Return the numbers that were drawn or varied, the most telling first, with what they have to do with failures
    (0 to 1, and the probability of as much by chance) and with the score (0 to 1); None where runs are too few."""
    begun = [row for row in rows if row["outcome"] != "refused"]
    failed = np.array([row["outcome"] not in GOOD for row in begun], dtype=bool)
    scores = _column(begun, score.removeprefix("-"))
    found = []
    for name in dict.fromkeys(name for row in begun for name in row if name.startswith(DRAWN)):
        values = _column(begun, name)
        if not np.isfinite(values).all() or np.ptp(values) == 0.0:
            continue
        distance, chance = _apart(values, failed)
        found.append(
            {"parameter": name, "failures": distance, "chance": chance, "score": _explained_variance(values, scores)}
        )
    return sorted(found, key=lambda each: (-(each["failures"] or 0.0), -(each["score"] or 0.0), each["parameter"]))


def _column(rows: Sequence[Row], name: str) -> np.ndarray:
    values = [row.get(name) for row in rows]
    fit = (isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return np.array([float(value) if good and value is not None else np.nan for value, good in zip(values, fit)])


def _apart(values: np.ndarray, failed: np.ndarray) -> tuple[float | None, float | None]:
    """Distance of the distributions over failed and good runs, and the probability of it by chance."""
    from scipy.stats import ks_2samp

    if min(failed.sum(), (~failed).sum()) < FEWEST:
        return None, None
    test: Any = ks_2samp(values[failed], values[~failed])
    return float(test.statistic), float(test.pvalue)


def _explained_variance(values: np.ndarray, scores: np.ndarray) -> float | None:
    """η² of the scores over classes of the values that hold equally many, corrected for its mean under chance."""
    known = np.isfinite(scores)
    values, scores, count = values[known], scores[known], int(known.sum())
    if count < FEWEST * CLASSES or np.ptp(scores) == 0.0:
        return None
    different = np.unique(values)
    few = len(different) <= CLASSES
    classes = np.searchsorted(different, values) if few else values.argsort().argsort() * CLASSES // count
    scores = scores.argsort().argsort().astype(float)  # ranks: a single enormous force must not decide alone
    means = [scores[classes == each] for each in np.unique(classes)]
    between = sum(len(each) * (each.mean() - scores.mean()) ** 2 for each in means) / (count * scores.var())
    chance = (len(means) - 1) / (count - 1)
    return float(max(0.0, (between - chance) / (1.0 - chance)))
