"""Fetches a sentence encoder from the Hugging Face hub. Only `reprise models pull` does that."""

from pathlib import Path

import huggingface_hub
import orjson
from huggingface_hub import errors

from proxy.semantic.manifest import ModelError

_TOKENIZER = "tokenizer.json"
_GRAPH = "onnx/model.onnx"
_POOLING = "1_Pooling/config.json"
_ETAG_SECONDS = 10.0

_ERRORS = (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.HFValidationError, OSError)


def fetch(repository: str, revision: str, into: Path, *, endpoint: str | None = None) -> str:
    """Fetch graph and tokenizer as they stood at a commit; returns how tokens become a sentence.

    `revision` is the 40 digits of a commit: they pin what every file holds. `endpoint` is the URL
    of a hub, else that of HF_ENDPOINT or the public one. Raises ModelError.
    """

    def download(name: str) -> Path:
        path = huggingface_hub.hf_hub_download(
            repository,
            name,
            revision=revision,
            local_dir=into,
            endpoint=endpoint,
            etag_timeout=_ETAG_SECONDS,
        )
        return Path(path)

    for name in (_TOKENIZER, _GRAPH):
        try:
            download(name)
        except _ERRORS as error:
            why = f"{name} cannot be fetched: {str(error).splitlines()[0]}"
            remedy = "where the hub is out of reach bring the files and use prepare --path"
            raise ModelError(f"{repository}@{revision}", why, remedy) from error
    try:
        told = orjson.loads(download(_POOLING).read_bytes())
    except (*_ERRORS, ValueError):
        return "mean"  # what nearly all sentence encoders do
    return "first" if isinstance(told, dict) and told.get("pooling_mode_cls_token") else "mean"
