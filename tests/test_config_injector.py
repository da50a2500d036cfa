"""The settings file of the injector."""

from pathlib import Path

import pytest

from proxy.config_file import ConfigError
from proxy.config_injector import SidecarFile, load


def loaded(tmp_path: Path, text: str) -> SidecarFile:
    file = tmp_path / "sidecar.yaml"
    file.write_text(text)
    return load(file)


def test_all_keys_are_understood(tmp_path: Path) -> None:
    file = loaded(
        tmp_path,
        """
image: registry.example/reprise:1
image_pull_policy: Always
upstream: http://llm:8000/
log_level: warning
run_as_user: null
resources: {requests: {cpu: 1, ephemeral-storage: 1Gi}, limits: {}}
env: [OPENAI_BASE_URL, OPENAI_API_BASE]
native_sidecar: false
""",
    )
    assert file == SidecarFile(
        image="registry.example/reprise:1",
        image_pull_policy="Always",
        upstream="http://llm:8000",
        log_level="warning",
        run_as_user=None,
        resources={"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}, "limits": {}},  # type: ignore[arg-type]
        env=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        native_sidecar=False,
    )
    assert "run_as_user" in file.model_fields_set


@pytest.mark.parametrize("text", ["", "{}", '{"image": null, "env": null, "native_sidecar": null}'])
def test_what_is_left_out_is_not_said(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text).model_fields_set == set()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "must be a mapping of keys"),
        ("imag: x", '1:1: imag: unknown key; did you mean "image"?'),
        ("image: ''", "names no image"),
        ("image_pull_policy: Sometimes", "image_pull_policy: must be"),
        ("upstream: llm", "a URL begins with http"),
        ("upstream: ${X}", '"X" is not in the environment'),
        ("run_as_user: 0", "must be at least 1"),
        ("resources: {requests: {cpu: lots}}", 'cpu: "lots" is none; write such as "100m"'),
        ("resources: {limits: {memory: 100m}}", 'memory: "100m" is none; write such as "256Mi"'),
        ("resources: {limits: 1}", "must be a mapping of resources"),
        ("resources: {limits: {'a b': 1}}", "is no resource"),
        ("resources: {request: {cpu: 1}}", 'did you mean "requests"?'),
        ("env: [1A]", '"1A" is not the name of a variable'),
        ("native_sidecar: maybe", "must be true or false"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert told in str(caught.value)
    assert "sidecar.yaml:1:" in str(caught.value)
