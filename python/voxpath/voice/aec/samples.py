"""What all of this computes with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Samples: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
"""Samples of a channel, or of left and right in rows."""
