"""Schemas of the few custom resources that the chart writes, as narrow as what it uses of them.

Written from the documentation of their projects: kubernetes-validate has only Kubernetes' own.
"""

from typing import Any

_DURATION = {"type": "string", "pattern": r"^(0|[0-9]+(ms|s|m|h))$"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253}
_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}


def _closed(*needed: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(needed),
    }


def _some(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": item}


def _resource(api: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = _closed(
        "name",
        "namespace",
        "labels",
        name=_NAME,
        namespace=_NAME,
        labels=_TEXTS,
        annotations=_TEXTS,
    )
    return _closed(
        *("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": api},
        kind={"const": kind},
        metadata=metadata,
        spec=spec,
    )


_ENDPOINT = _closed(
    "port", port=_NAME, path={"type": "string"}, interval=_DURATION, scrapeTimeout=_DURATION
)
_SELECTOR = _closed("matchLabels", matchLabels={**_TEXTS, "minProperties": 1})
_EXPRESSION = {"type": ["string", "number"]}
_RULE = {
    **_closed(
        "expr",
        record={"type": "string", "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$"},
        alert={"type": "string", "minLength": 1},
        expr=_EXPRESSION,
        labels=_TEXTS,
        annotations=_TEXTS,
        **{"for": _DURATION, "keep_firing_for": _DURATION},
    ),
    "oneOf": [{"required": ["record"]}, {"required": ["alert"]}],
}
_ISSUER = _closed("name", name=_NAME, kind={"enum": ["Issuer", "ClusterIssuer"]}, group=_NAME)

SCHEMAS: dict[str, dict[str, Any]] = {
    "ServiceMonitor": _resource(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        _closed("selector", "endpoints", selector=_SELECTOR, endpoints=_some(_ENDPOINT)),
    ),
    "PodMonitor": _resource(
        "monitoring.coreos.com/v1",
        "PodMonitor",
        _closed(
            *("selector", "podMetricsEndpoints"),
            selector=_SELECTOR,
            podMetricsEndpoints=_some(_ENDPOINT),
            namespaceSelector=_closed(any={"type": "boolean"}),
        ),
    ),
    "PrometheusRule": _resource(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        _closed(
            "groups",
            groups=_some(
                _closed(
                    *("name", "rules"),
                    name={"type": "string", "minLength": 1},
                    interval=_DURATION,
                    labels=_TEXTS,
                    rules=_some(_RULE),
                )
            ),
        ),
    ),
    "HTTPRoute": _resource(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        _closed(
            *("parentRefs", "rules"),
            parentRefs=_some(
                _closed(
                    "name",
                    **dict.fromkeys(("name", "namespace", "sectionName", "kind", "group"), _NAME),
                    port=_PORT,
                )
            ),
            hostnames=_some({"type": "string"}),
            rules=_some(
                _closed(
                    backendRefs=_some(_closed("name", "port", name=_NAME, port=_PORT)),
                    timeouts=_closed(request={"type": "string", "pattern": r"^[0-9]+(ms|s|m|h)$"}),
                )
            ),
        ),
    ),
    "Issuer": _resource(
        "cert-manager.io/v1",
        "Issuer",
        _closed(selfSigned=_closed(), ca=_closed("secretName", secretName=_NAME)),
    ),
    "Certificate": _resource(
        "cert-manager.io/v1",
        "Certificate",
        _closed(
            *("secretName", "issuerRef"),
            secretName=_NAME,
            issuerRef=_ISSUER,
            commonName={"type": "string", "maxLength": 64},
            dnsNames=_some(_NAME),
            duration=_DURATION,
            renewBefore=_DURATION,
            isCA={"type": "boolean"},
            usages={"type": "array", "items": {"type": "string"}},
            privateKey=_closed(
                algorithm={"enum": ["RSA", "ECDSA", "Ed25519"]},
                size={"type": "integer"},
                rotationPolicy={"enum": ["Never", "Always"]},
                encoding={"enum": ["PKCS1", "PKCS8"]},
            ),
        ),
    ),
}
"""Kind -> schema."""
