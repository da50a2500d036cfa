"""The injector: gives pods a Reprise of their own.

`injection.py:inject` is the whole decision, a function of a pod as JSON, where it is to live, and
the settings; it does no I/O. `review.py` reads and writes the API server's AdmissionReview around
it, `manifests.py` files of manifests. `webhook.py` serves the former over TLS.

`tls.py` holds the certificate that is served. `certificate_files.py` takes it from mounted files;
`rotation.py` makes it, keeps it in a Secret (`cluster.py`) and has the API server trust it, by
what `certificates.py` (is it good, when to renew) and `trust.py` (what may be served) decide.
"""
