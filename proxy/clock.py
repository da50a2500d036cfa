"""The machine's clock: the only place that asks it."""

import time


class SystemClock:
    """Fulfils the Clock port."""

    now = staticmethod(time.time)  # noqa: TID251 - this is the port's adapter
    monotonic = staticmethod(time.monotonic)
