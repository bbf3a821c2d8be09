"""SSA values while a kernel is recorded, and the CSE that names them.

An operation is recorded with an empty result name; that nameless operation is the CSE key. Index
expressions stay sympy until the plan is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._inductor.codegen.common import CSE, CSEVariable
from torch.utils._ordered_set import OrderedSet
from torch.utils._sympy.value_ranges import ValueRanges

# Where a value lives while one reduction loop is recorded.
BEFORE_LOOP, IN_LOOP, AFTER_LOOP = 0, 1, 2


class SpyreCSEVariable(CSEVariable):
    """A named value; `dtype` is always a compute type.

    `place` is BEFORE_LOOP when it is known before the current reduction loop runs, IN_LOOP when it
    differs per reduction point, AFTER_LOOP when it needs the loop's result.
    """

    def __init__(
        self,
        name: str,
        bounds: ValueRanges[Any],
        dtype: torch.dtype | None = None,
        shape: Any = None,
        place: int = BEFORE_LOOP,
    ) -> None:
        super().__init__(name, bounds, dtype, ())
        self.place = place
        # The narrow float that holds the value exactly: it was loaded as, or rounded to that type.
        self.exact_in: torch.dtype | None = None
        # The Python number, when the value is a literal.
        self.literal: bool | int | float | None = None


class SpyreCSE(CSE[SpyreCSEVariable, Any]):
    """CSE whose keys are operations instead of source text."""

    def forget_loop_values(self, kept_results: Iterable[Any]) -> None:
        """Ends a reduction loop: drops what was visible only inside it.

        Args:
            kept_results: values that outlive the loop though their key is not an operation.
        """
        keep = OrderedSet(v for v in self._cache.values() if v.place != IN_LOOP)
        # An assertion "stores" None: it has no value.
        stored = (v for v in self.store_cache.values() if v is not None)
        keep |= OrderedSet(v for v in stored if v.place != IN_LOOP)
        keep |= OrderedSet(kept_results)
        self.invalidate(keep)
        for value in keep:
            value.place = BEFORE_LOOP
