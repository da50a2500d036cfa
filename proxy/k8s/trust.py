"""Whom the API server trusts, and which leaf may therefore be served. No I/O.

The API server verifies by `caBundle` of each webhook, which it hears of a moment after that was
written, and several of them hear at different times. Several injectors serve, and one that was cut
off may go on with the leaf before. So no handshake fails if

- an authority is in every bundle for a while before its leaf is served, and
- stays there until it has ended, whoever may still serve its leaf.
"""

from collections.abc import Iterable, Iterator, Sequence

from proxy.k8s.certificates import (
    Authority,
    Leaf,
    authorities_in,
    bundle,
    united,
)
from proxy.k8s.cluster import Json, decoded, encoded

SETTLE_SECONDS = 60.0
"""From when an authority is in the bundles to when every API server surely goes by that."""


def bundles_of(configuration: Json) -> Iterator[tuple[str, bytes]]:
    """Name and caBundle of each webhook."""
    for webhook in configuration.get("webhooks") or ():
        yield webhook["name"], decoded((webhook.get("clientConfig") or {}).get("caBundle"))


def trusted_by(configuration: Json, now: float) -> dict[bytes, Authority]:
    """Whom all of the webhooks trust, by digest."""
    found = [
        {authority.digest: authority for authority in authorities_in(pem, now)}
        for _, pem in bundles_of(configuration)
    ]
    return {
        digest: authority
        for digest, authority in (found[0] if found else {}).items()
        if all(digest in others for others in found)
    }


def patch_for(configuration: Json, wanted: Iterable[Authority], now: float) -> Json | None:
    """What makes every webhook trust the wanted ones; None where all is as it should be.

    Others of ours stay: another injector may serve their leaves. Whatever else is there goes, as
    do those that have ended. The patch counts only for what was read, by its resourceVersion.
    """
    bundles = dict(bundles_of(configuration))
    ours = (
        authority
        for pem in bundles.values()
        for authority in authorities_in(pem, now)
        if authority.is_ours
    )
    pem = bundle(united(wanted, ours))
    if all(found == pem for found in bundles.values()):
        return None
    return {
        "metadata": {"resourceVersion": configuration["metadata"]["resourceVersion"]},
        "webhooks": [
            {"name": name, "clientConfig": {"caBundle": encoded(pem)}} for name in bundles
        ],
    }


class Trust:
    """Since when each authority has been trusted, as far as that was seen here.

    `monotonic` is a time in seconds that never runs backwards, `now` the wall time of the API
    server.
    """

    def __init__(self, settle: float = SETTLE_SECONDS) -> None:
        """`settle` is how many seconds it takes until that counts everywhere."""
        self._settle = settle
        self._since: dict[bytes, float] = {}
        self._looked: float | None = None

    def saw(self, trusted: Iterable[Authority], *, now: float, monotonic: float) -> None:
        """Note who was seen to be trusted just now."""
        # Who is there at the first look may have been since it was made.
        self._since = {
            authority.digest: self._since.get(
                authority.digest,
                monotonic - max(0.0, now - authority.made) if self._looked is None else monotonic,
            )
            for authority in trusted
        }
        self._looked = monotonic

    def has(self, leaf: Leaf) -> bool:
        """Whether the leaf's authority was trusted at the last look."""
        return leaf.authority.digest in self._since

    def is_settled(self, leaf: Leaf) -> bool:
        """Whether it was trusted everywhere at the last look: who is cut off learns nothing new."""
        since = self._since.get(leaf.authority.digest)
        if since is None or self._looked is None:
            return False
        return self._looked - since >= self._settle

    def choose(self, leaves: Sequence[Leaf], served: Leaf | None, now: float) -> Leaf | None:
        """Which leaf to serve, of those in the Secret (newest first) and the one served now.

        1. The newest that is trusted everywhere.
        2. What is served now, as long as it has not ended.
        3. The newest that is trusted at all: what else there is is worth nothing.
        4. What is served now, or none yet.
        """
        usable = [leaf for leaf in leaves if leaf.is_valid(now)]
        for leaf in usable:
            if self.is_settled(leaf):
                return leaf
        if served is not None and served.is_valid(now):
            return served
        for leaf in usable:
            if self.has(leaf):
                return leaf
        return served
