"""ONNX Runtime, which is to be imported from here only.

The official builds report to their maker: an identifier and a queue in the user's cache directory,
and uploads. A cache for other people's questions does not do that. The switch is read once, when
the library is loaded.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi import onnxruntime_pybind11_state as _state

ERRORS = (
    _state.EPFail,
    _state.Fail,
    _state.InvalidArgument,
    _state.InvalidGraph,
    _state.InvalidProtobuf,
    _state.ModelLoadCanceled,
    _state.NoModel,
    _state.NoSuchFile,
    _state.NotImplemented,
    _state.RuntimeException,
)
"""What it raises."""

__all__ = ["ERRORS", "InferenceSession", "SessionOptions"]
