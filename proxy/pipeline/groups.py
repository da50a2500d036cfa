"""Which of many questions one answer would serve: what the operator is told of misses."""

from collections.abc import Callable, Sequence

from proxy.core.meaning.gate import Candidate, Gate
from proxy.core.meaning.text import Text
from proxy.core.meaning.uncompared import NotCompared
from proxy.core.policy import SemanticRules
from proxy.pipeline.space import LEARN_SECONDS, NEIGHBOURS, Space
from proxy.ports import Vector


async def groups(
    texts: Sequence[str],
    rules: SemanticRules,
    *,
    read: Callable[[str, SemanticRules], tuple[Text, Space]],
    gate: Gate,
) -> list[list[int]]:
    """The texts that one answer would serve, as groups of two or more of their positions.

    A group is about its first text: the others would be served what is stored for that one.
    `read` gives a text as it is compared, and where, or raises NotCompared.
    """
    found: dict[bytes, list[int]] = {}
    firsts: list[tuple[bytes, Space, Text, Vector]] = []
    for position, text in enumerate(texts):
        try:
            asked, space = read(text, rules)
            vector = await space.encoder.embed(text, deadline=LEARN_SECONDS)
        except NotCompared:
            continue
        candidates = [
            Candidate(key, float(vector @ other), first)
            for key, its_space, first, other in firsts
            if its_space is space
        ]
        candidates.sort(key=lambda candidate: -candidate.similarity)
        findings = gate.judge(
            asked,
            candidates[:NEIGHBOURS],
            encoder=space.name,
            min_similarity=rules.min_similarity,
            max_error_rate=rules.max_error_rate,
        )
        if findings and findings[-1].may_serve:
            found[findings[-1].candidate.key].append(position)
        else:
            key = b"%d" % position
            found[key] = [position]
            firsts.append((key, space, asked, vector))
    return [group for group in found.values() if len(group) > 1]
