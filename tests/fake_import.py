"""A module whose import takes long and, when interrupted, says that it is broken, as compiled ones do."""

from __future__ import annotations

import time

print("importing", flush=True)
try:
    time.sleep(60)
except BaseException:
    raise ImportError("initialization failed") from None
