"""Keeps the injector's own certificate: in a Secret, trusted by the API server, and served.

All replicas do the same, and none leads. The Secret is what they have in common: who writes it
says what it read, and who was second reads again. Each sees to it that the webhooks trust what it
holds before it serves that (trust.py). All times are those of the API server, for it verifies.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from proxy.k8s.certificates import (
    AUTHORITIES,
    CHAIN,
    KEY,
    PREVIOUS_CHAIN,
    PREVIOUS_KEY,
    Holding,
    Leaf,
    held,
    renewed,
    service_names,
    united,
    wants_renewal,
)
from proxy.k8s.cluster import (
    Cluster,
    ClusterError,
    Conflict,
    Forbidden,
    Json,
    NotFound,
    Refused,
    Unreachable,
    decoded,
    encoded,
)
from proxy.k8s.tls import ServedCertificate
from proxy.k8s.trust import SETTLE_SECONDS, Trust, patch_for, trusted_by
from proxy.ports import Clock
from proxy.tasks import Beat
from proxy.telemetry.log import Log

LOOKS_EVERY = 15.0
FIRST_PAUSE = 1.0
"""Seconds after a look that failed; they double up to LOOKS_EVERY."""
MOST_TRIES = 5
"""To write what others write too, in one look."""
MOST_SKEW = 60.0
"""Seconds by which this clock may differ from the API server's without a word."""

_OURS = frozenset({CHAIN, KEY, AUTHORITIES, PREVIOUS_CHAIN, PREVIOUS_KEY})


@dataclass(frozen=True, slots=True)
class Place:
    """Whose certificate it is, and where it is kept."""

    namespace: str
    service: str
    """The Service under which the API server calls the webhook."""
    secret: str
    configuration: str
    """The MutatingWebhookConfiguration with that webhook."""


class Rotator:
    """Fulfils CertificateSource (tls.py)."""

    def __init__(
        self,
        cluster: Cluster,
        place: Place,
        *,
        clock: Clock,
        log: Log,
        every: float = LOOKS_EVERY,
        settle: float = SETTLE_SECONDS,
    ) -> None:
        """`every` and `settle` (trust.py) are in seconds."""
        self.every = every
        self._cluster = cluster
        self._place = place
        self._names = service_names(place.service, place.namespace)
        self._clock = clock
        self._troubles = Troubles(log)
        self._log = log
        self._trust = Trust(settle)
        self._holding = Holding((), ())
        """What the Secret held when it was last in order."""
        self._leaf: Leaf | None = None
        """What is served."""
        self._is_skewed = False

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Look after it for ever: the first one is there after the first look that went well."""
        pause = FIRST_PAUSE
        while True:
            if await self._look(served):
                beat()
                pause = FIRST_PAUSE
                await asyncio.sleep(self.every)
            else:
                await asyncio.sleep(min(pause, self.every))
                pause = 2 * min(pause, self.every)

    async def _look(self, served: ServedCertificate) -> bool:
        """Whether all is as it should be. What can be done is done all the same."""
        troubles = self._troubles
        try:
            with troubles.met_by("webhook configuration"):
                configuration = await self._read_configuration()
                with troubles.met_by("Secret"):
                    await self._keep_secret(configuration)
                await self._keep_trusted(configuration)
        except Unreachable as error:
            troubles.begin("API server", error)
        else:
            troubles.end("API server")
            self._tell_skew()
        await self._serve(served)
        return not troubles.are_there

    async def _read_configuration(self) -> Json:
        configuration = await self._cluster.webhook_configuration(self._place.configuration)
        self._note_trusted(configuration)
        return configuration

    def _note_trusted(self, configuration: Json) -> None:
        now = self._now()
        trusted = trusted_by(configuration, now).values()
        self._trust.saw(trusted, now=now, monotonic=self._clock.monotonic())

    async def _keep_secret(self, configuration: Json) -> None:
        """Read it; write it where it is not in order."""
        for _ in range(MOST_TRIES):
            secret = await self._read_secret()
            entries = _entries_of(secret)
            now = self._now()
            self._holding = self._mended(entries, now)
            wanted = self._holding
            if wants_renewal(wanted, now):
                wanted = renewed(wanted, self._names, now)
            if entries != wanted.entries():
                try:
                    await self._write_secret(secret, wanted, configuration)
                except Conflict:
                    continue
            self._holding = wanted
            return
        raise Unreachable("others change the Secret all the time")

    async def _read_secret(self) -> Json | None:
        try:
            return await self._cluster.secret(self._place.namespace, self._place.secret)
        except NotFound:
            return None

    def _mended(self, entries: dict[str, bytes], now: float) -> Holding:
        """What the Secret holds; where it was deleted or spoilt, what it held before."""
        found = held(entries, self._names, now)
        if found.leaves and found.leaves[0].chain == entries.get(CHAIN):
            return found
        known = tuple(one for one in self._holding.leaves if one.is_valid(now))
        trusted = united(found.authorities, self._holding.authorities)
        return Holding(known or found.leaves, trusted)

    async def _write_secret(
        self, secret: Json | None, wanted: Holding, configuration: Json
    ) -> None:
        place = self._place
        data = {key: encoded(value) for key, value in wanted.entries().items()}
        if secret is None:
            new = _new_secret(place, configuration) | {"data": data}
            await self._cluster.create_secret(place.namespace, place.secret, new)
        else:
            others = {key: value for key, value in _data_of(secret).items() if key not in _OURS}
            changed = secret | {"data": others | data}
            await self._cluster.update_secret(place.namespace, place.secret, changed)
        told = {"secret": place.secret, "not_after": wanted.leaves[0].not_after}
        self._log.emit("info", "certificate written", told)

    async def _keep_trusted(self, configuration: Json) -> None:
        """Have the API server trust what is held and what is served."""
        name = self._place.configuration
        leaves = self._holding.leaves if self._leaf is None else (*self._holding.leaves, self._leaf)
        wanted = united((leaf.authority for leaf in leaves), self._holding.authorities)
        for _ in range(MOST_TRIES):
            patch = patch_for(configuration, wanted, self._now())
            if patch is None:
                return
            try:
                patched = await self._cluster.patch_webhook_configuration(name, patch)
            except Conflict:
                configuration = await self._read_configuration()
                continue
            self._note_trusted(patched)
            self._log.emit("info", "caBundle written", {"webhook_configuration": name})
            return
        raise Unreachable("others change the webhook configuration all the time")

    async def _serve(self, served: ServedCertificate) -> None:
        """Serve what is to be served now, if that is another one."""
        leaf = self._trust.choose(self._holding.leaves, self._leaf, self._now())
        if leaf is None or leaf == self._leaf:
            return
        await served.take(leaf.chain, leaf.key)
        self._leaf = leaf
        self._log.emit("info", "certificate taken", {"not_after": leaf.not_after})

    def _now(self) -> float:
        return self._clock.now() + self._cluster.skew

    def _tell_skew(self) -> None:
        """Warn of a clock that is wrong, once: certificates are not the only ones to suffer."""
        is_skewed = abs(self._cluster.skew) > MOST_SKEW
        if is_skewed and not self._is_skewed:
            told = {"ahead_seconds": round(-self._cluster.skew)}
            self._log.emit("warning", "clock differs from the API server's", told)
        self._is_skewed = is_skewed


class Troubles:
    """What hinders the rotator now: told when it begins, and when it has ended."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._met: dict[str, object] = {}

    @property
    def are_there(self) -> bool:
        """Whether anything hinders it."""
        return bool(self._met)

    @contextmanager
    def met_by(self, part: str) -> Iterator[None]:
        """Within this, a refusal counts as trouble of a part, and ends there."""
        try:
            yield
        except Refused as error:
            self.begin(part, error)
        else:
            self.end(part)

    def begin(self, part: str, error: ClusterError) -> None:
        """Note trouble. Another missing right is another trouble; how it is out of reach is not."""
        kind: object = str(error) if isinstance(error, Forbidden) else type(error)
        if self._met.get(part) != kind:
            self._met[part] = kind
            told = {"part": part, "reason": str(error)}
            self._log.emit("warning", "certificate upkeep is hindered", told)

    def end(self, part: str) -> None:
        """Note that all is well with a part."""
        if self._met.pop(part, None) is not None:
            self._log.emit("info", "certificate upkeep goes on", {"part": part})


def _data_of(secret: Json | None) -> Json:
    found = (secret or {}).get("data")
    return found if isinstance(found, dict) else {}


def _entries_of(secret: Json | None) -> dict[str, bytes]:
    """Those of its entries that are ours."""
    return {key: decoded(value) for key, value in _data_of(secret).items() if key in _OURS}


def _new_secret(place: Place, configuration: Json) -> Json:
    """It goes when the webhook configuration does, which is of no namespace."""
    owner = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "name": place.configuration,
        "uid": configuration["metadata"]["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": place.secret,
            "namespace": place.namespace,
            "ownerReferences": [owner],
        },
    }
