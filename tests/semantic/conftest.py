"""The encoders: the two real ones, loaded once, and tiny ones that are made to order."""

from pathlib import Path

import pytest

from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.models import E5, MINILM
from tests.fakes.models import prepared_models


@pytest.fixture(scope="session")
def models() -> Path:
    """Where the two real models are prepared."""
    return prepared_models()


@pytest.fixture(scope="session")
def minilm(models: Path) -> OnnxEncoder:
    """all-MiniLM-L6-v2."""
    return OnnxEncoder(models / MINILM.name)


@pytest.fixture(scope="session")
def e5(models: Path) -> OnnxEncoder:
    """multilingual-e5-small."""
    return OnnxEncoder(models / E5.name)
