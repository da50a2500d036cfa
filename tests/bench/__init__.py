"""The speed bench: `python -m tests.bench` (what `make bench` runs). Not collected by pytest.

Every figure of ours is taken beside its counterparts in the same run: for each piece of work the
systems take turns of a fraction of a second, in an order that rotates from round to round, and what
is reported is the median over the rounds. A ratio is ours / the bare aiohttp counterpart of the
same round. All servers and the load generator are processes of their own on loopback. Hits are
measured as shipped, misses and what passes through without the semantic level: their counterparts
compare nothing.

- work: what is asked and what must come back, byte for byte
- upstream: the scripted LLM server behind every proxy
- bare: the aiohttp counterparts, for hits and for passing through
- nginx: its configuration, where the Debian package is installed
- load: the load generator's process; a wrong answer fails the bench
- generator: the other end of that process
- processes: starts, awaits and ends processes
- systems: who takes part in which work
- rounds: the alternating rounds
- footprint: memory a stored entry and start-up time
- parts: what each part of a hit costs, in process
- questions: texts in English and Chinese, and the same ones in other words
- lane: a language's encoder in process, and what each part of a semantic hit costs
- semantic: semantic hits beside the sum of their parts, misses, exact hits meanwhile
- crowd: very many entries in one partition, their search and their memory
- vectors: very many vectors in Redis beside hnswlib; not by `make bench`, for it takes minutes
- sharing: what disk and Redis cost a hit and a miss, and how soon another process knows
- warm_start: the start with 100,000 entries; a command of its own
- soak, soak_load, echo: half an hour of mixed load; a command of its own
- lasting, kept: what these three have found, now or when they ran last
- figures: medians, ratios and the figures to reach
- table, semantic_page, lasting_page, page: docs/benchmarks.md
"""
