"""Reprise: an OpenAI-compatible caching reverse proxy. An answer given once is given again.

A request comes in at server/handler.py, which makes an Exchange of it (core/exchange.py: what has
happened to this request so far) and hands it to pipeline/pipeline.py. There is its whole way:

    server/decode -> core/classify -> pipeline/lookup  -> pipeline/replay           by key
                                   -> pipeline/meaning -> pipeline/replay           by meaning
                                   -> pipeline/fetch   -> pipeline/forward, record  on a miss
                  -> server/encode -> telemetry/report

Four layers; imports only point downwards (tests/test_architecture.py holds it):

    cli, reload, app      put it together; the only ones who see the configuration
    server, admin         towards clients and operators
    pipeline              orders the stages; upstream, store and semantic work behind ports.py
    core                  decides: no I/O, no clock, no randomness

core/ has four rooms: cache/ (keys, freshness, what may be stored and served), wire/ (header
fields, event streams, one file an API operation in wire/operations/), meaning/ (may the answer to
one question serve another?), and the values between.

A miss becomes a Flight (pipeline/collapse.py): one upstream call with a log of its bytes that any
number of clients read from the first byte. It belongs to none of them. When it has ended well,
pipeline/record.py stores it, byte for byte, and the next who asks gets a Hit.
"""

__version__ = "0.1.0"
