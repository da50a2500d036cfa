"""The API server's reviews, read and answered."""

import base64
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.k8s.injection import Done, Fault, Injection, inject
from proxy.k8s.json_patch import add
from proxy.k8s.refusal import Reason
from proxy.k8s.review import MAX_WARNINGS, Review, answer, read
from tests.k8s.pods import CLASSIC, SETTINGS, base_urls
from tests.k8s.reviews import of_1_20, of_1_31, of_1_36


def sent(review: dict[str, Any]) -> Review:
    return read(orjson.dumps(review))


@pytest.mark.parametrize("review", [of_1_20(), of_1_20("v1"), of_1_31(), of_1_36()])
def test_what_api_servers_send_is_answered_in_their_version(review: dict[str, Any]) -> None:
    understood = sent(review)
    injection = inject(understood.pod, understood.surroundings, SETTINGS)
    assert injection.outcome is Done.NATIVE
    told = orjson.loads(answer(understood, injection))
    assert (told["apiVersion"], told["kind"]) == (review["apiVersion"], "AdmissionReview")
    response = told["response"]
    assert (response["uid"], response["allowed"]) == (review["request"]["uid"], True)
    assert response["patchType"] == "JSONPatch"
    patch = orjson.loads(base64.b64decode(response["patch"], validate=True))
    after = jsonpatch.apply_patch(review["request"]["object"], patch)
    assert base_urls(after)["app"] == "http://127.0.0.1:11480/v1"


def test_the_names_are_those_that_there_are() -> None:
    one, two = sent(of_1_20()), sent(of_1_31())
    assert (one.name, one.surroundings.namespace, one.is_dry_run) == (
        "app-5d4c8b7f9-",
        "apps",
        False,
    )
    assert (two.name, two.surroundings.namespace, two.is_dry_run) == ("worker", "apps", True)


def test_a_jobs_pod_gets_no_classic_sidecar() -> None:
    review = sent(of_1_36())
    injection = inject(review.pod, review.surroundings, CLASSIC)
    assert injection.outcome is Reason.CLASSIC_JOB
    response = orjson.loads(answer(review, injection))["response"]
    assert set(response) == {"uid", "allowed", "warnings"}
    assert response["warnings"][0].startswith("reprise: the pod gets no sidecar: a classic")


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"uid": ""}, Fault.MALFORMED),
        ({"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}}, Fault.NOT_A_POD),
        ({"kind": None}, Fault.NOT_A_POD),
        ({"operation": "UPDATE"}, Fault.NOT_A_CREATION),
        ({"subResource": "ephemeralcontainers"}, Fault.NOT_A_CREATION),
    ],
)
def test_what_is_no_question_about_a_new_pod_is_told_apart(
    changed: dict[str, Any], fault: Fault
) -> None:
    review = of_1_20()
    review["request"].update(changed)
    assert sent(review).fault is fault


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 5000])
def test_what_is_no_review_is_answered_without_a_uid(body: bytes) -> None:
    review = read(body)
    assert review.fault is Fault.MALFORMED
    told = orjson.loads(answer(review, Injection(Fault.MALFORMED)))
    assert told == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "", "allowed": True},
    }


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
_MEMBERS = ("uid", "kind", "operation", "object", "namespace", "name", "dryRun", "subResource")


@given(st.binary(max_size=50) | _JSON.map(orjson.dumps))
def test_any_body_can_be_answered(body: bytes) -> None:
    review = read(body)
    told = orjson.loads(answer(review, Injection(Fault.MALFORMED)))
    assert told["response"]["allowed"] is True


@given(st.dictionaries(st.sampled_from(_MEMBERS), _JSON, max_size=2), _JSON)
def test_any_member_may_be_anything(changed: dict[str, Any], version: Any) -> None:
    whole = of_1_31()
    whole["request"].update(changed)
    whole["apiVersion"] = version
    review = sent(whole)
    injection = inject(review.pod, review.surroundings, SETTINGS)
    told = orjson.loads(answer(review, injection))
    assert told["response"]["allowed"] is True
    assert isinstance(told["response"]["uid"], str)
    assert told["apiVersion"].startswith("admission.k8s.io/")


def test_a_pod_that_is_complete_gets_no_patch() -> None:
    told = orjson.loads(answer(Review(uid="1"), Injection(Done.NOTHING)))
    assert told["response"] == {"uid": "1", "allowed": True}


def test_warnings_have_a_bound() -> None:
    many = Injection(Done.NATIVE, (add("/x", 1),), tuple(["w" * 500] * 50))
    warnings = orjson.loads(answer(Review(uid="1"), many))["response"]["warnings"]
    assert len(warnings) == MAX_WARNINGS
    assert all(len(warning) <= 256 for warning in warnings)
