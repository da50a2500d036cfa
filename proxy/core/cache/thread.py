"""Conversations that began with differently worded questions go on as one (design 4).

A question that was answered with what is stored for another one, and that answer, count in the
key of what follows as if the other one had been asked.
"""

import hashlib
import unicodedata
from typing import NamedTuple, Protocol

from proxy.core.wire.operation import Json


class Thread(NamedTuple):
    """Whose answer a question was given."""

    question: bytes
    """The exact key of the question whose answer it is."""
    answer: bytes
    """What `answer_digest` says of that answer."""


class Threads(Protocol):
    """The questions that were answered so."""

    def thread(self, key: bytes, least: float) -> Thread | None:
        """What the question with this exact key was answered with, if it is at least so near."""


class _NoThreads:
    def thread(self, key: bytes, least: float) -> Thread | None:
        return None


NO_THREADS: Threads = _NoThreads()


def follow(key: bytes, reply: Json, threads: Threads, least: float) -> bytes:
    """The exact key that stands for a question in a history, given the message after it.

    `least` is the similarity below which no other question stands for it.
    """
    thread = threads.thread(key, least)
    if thread is None or not isinstance(reply, dict) or reply.get("role") != "assistant":
        return key
    content = reply.get("content")
    if isinstance(content, str) and answer_digest(content) == thread.answer:
        return thread.question
    return key


def answer_digest(text: str) -> bytes:
    """The identity of an answer's text, 16 bytes; NFC, as the key has it."""
    normal = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(normal, digest_size=16).digest()
