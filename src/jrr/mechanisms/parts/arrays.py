"""Names for the arrays that mechanisms pass around."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Cards = NDArray[Any]  # one card a contributor
Reports = NDArray[Any]  # one report a contributor
Ints = NDArray[np.int64]
