"""Steps of a patch, applied by somebody else's code."""

import jsonpatch
import pytest

from proxy.k8s.json_patch import add, replace, step


@pytest.mark.parametrize("key", ["plain", "reprise.dev/injected", "a~b", "~1", "/"])
def test_any_key_can_be_named(key: str) -> None:
    once = jsonpatch.apply_patch({"labels": {}}, [add(f"/labels/{step(key)}", "1")])
    assert once == {"labels": {key: "1"}}
    twice = jsonpatch.apply_patch(once, [replace(f"/labels/{step(key)}", "2")])
    assert twice == {"labels": {key: "2"}}
