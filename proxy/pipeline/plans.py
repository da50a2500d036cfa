"""Plans of requests, and the memory of those that hit: a repeat of the same bytes is not parsed."""

import hashlib
from collections.abc import Sequence

from proxy.core.classify import Lookup, Plan, classify
from proxy.core.head import DECIDING_FIELDS, Head, read_head
from proxy.core.model import Request
from proxy.core.policy import Rules, ScopeKind
from proxy.core.wire.operation import Operation
from proxy.pipeline.aliases import Aliases

MEMO_ENTRIES = 4096
"""Plans of repeated requests that are kept (twice as many at most)."""
MEMO_BODY_BYTES = 64 * 1024
"""Larger bodies are parsed in a thread, and their plans are not remembered."""
MEMO_PLAN_BYTES = 1024
"""What a remembered plan may hold of the client's own text."""
MEMO_HEAD_BYTES = 4096
"""The deciding fields of a head that is remembered, in sum."""


class Plans:
    """Makes plans by one generation of rules."""

    def __init__(
        self, *, rules: Rules, operations: Sequence[Operation], secret: bytes, aliases: Aliases
    ) -> None:
        """`secret` keys the digests of credentials."""
        self._rules = rules
        self._operations = operations
        self._secret = secret
        self._aliases = aliases
        self._deciding = (
            DECIDING_FIELDS
            | {route.match.header.lower().encode() for route in rules.routes}
            | {
                policy.scope_header.lower().encode()
                for policy in (rules.default, *(route.policy for route in rules.routes))
                if policy.scope is ScopeKind.HEADER
            }
        )
        self._losses = aliases.losses
        self._memo: dict[bytes, Lookup] = {}
        self._older_memo: dict[bytes, Lookup] = {}
        self._heads: dict[bytes, Head] = {}

    def make(self, request: Request, head: Head | None = None) -> Plan:
        """The plan of a request whose body is whole; `head` is what its fields say, if known."""
        return classify(request, self._rules, self._operations, self._secret, self._aliases, head)

    def find(self, request: Request) -> tuple[Plan, bytes]:
        """The plan of a request, and under what to remember it; empty where it shall not be.

        A request that is byte for byte like one that hit before skips parsing.
        """
        body = request.body
        if not isinstance(body, bytes) or len(body) > MEMO_BODY_BYTES:
            return self.make(request), b""
        deciding = self._deciding
        parts = [self._secret, request.method.encode(), request.target.encode()]
        for field in request.fields:
            if field[0].lower() in deciding:
                parts += field
        # Field names and values hold no NUL, so that the body cannot be taken for one.
        fingerprint = hashlib.sha256(b"\x00".join((*parts, b"", body))).digest()
        if self._aliases.losses != self._losses:
            # A conversation that a plan went on from may be no more.
            self._losses = self._aliases.losses
            self._memo.clear()
            self._older_memo.clear()
        known = self._memo.get(fingerprint) or self._older_memo.get(fingerprint)
        if known is not None:
            return known, fingerprint
        head = self._head(request, b"\x00".join(parts))
        return self.make(request, head), fingerprint

    def _head(self, request: Request, deciding: bytes) -> Head:
        # The heads of one client's requests are alike: read once.
        digest = hashlib.sha256(deciding).digest()
        head = self._heads.get(digest)
        if head is None:
            head = read_head(request, self._secret)
            if len(self._heads) >= MEMO_ENTRIES:
                self._heads.clear()
            if len(deciding) <= MEMO_HEAD_BYTES:
                self._heads[digest] = head
        return head

    def remember(self, fingerprint: bytes, plan: Lookup) -> None:
        """Keep the plan of a request that hit, without its text."""
        size = len(plan.stream_options) + len(plan.model)
        if fingerprint and size <= MEMO_PLAN_BYTES and fingerprint not in self._memo:
            if len(self._memo) >= MEMO_ENTRIES:
                self._older_memo, self._memo = self._memo, {}
            self._memo[fingerprint] = plan._replace(text="", uncompared=None)
