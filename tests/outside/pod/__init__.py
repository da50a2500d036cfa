"""Both SDKs, told nothing but OPENAI_BASE_URL, in namespaces laid out like a node: `make pod-test`.

App and sidecar share the pod's loopback; the model's server is another host; the tests are where
the kubelet would be.
"""
