"""An LLM server whose answers name their question and who asked it: `python -m ... .echo PORT`.

So whoever asks sees whether an answer is whole, right, and his own. Streams come slowly enough that
a client can leave in the middle.
"""

import asyncio
import hashlib
import json
import sys

import uvloop
from aiohttp import web

from tests.fakes.answers import DONE, chat_answer, frame

FAILS = "Fail now, please."
"""Whoever asks for this gets a 500."""
_PROSE = "The parcel left our warehouse on Monday and the carrier has scanned it twice since then. "
_LONGEST = 40
_PIECES = 8
_THINKING_SECONDS = 0.01
_PIECE_SECONDS = 0.003


def said(key: str, text: str) -> str:
    """The answer to a text, for the caller with this key: 100 bytes to 4 KB."""
    size = hashlib.sha256(text.encode()).digest()[0] % _LONGEST
    return f"{said_first(key)}{text}\n{_PROSE * (1 + size)}"


def said_first(key: str) -> str:
    """What all answers to this caller begin with."""
    return f"{key} asked: "


def asked_in(answer: str, key: str) -> str | None:
    """The text that an answer is to; None where it is not this caller's, or not whole."""
    if not answer.startswith(said_first(key)):
        return None
    text = answer.removeprefix(said_first(key)).partition("\n")[0]
    return text if answer == said(key, text) else None


async def _answer(request: web.Request) -> web.StreamResponse:
    body = json.loads(await request.read())
    key = request.headers.get("Authorization", "").removeprefix("Bearer ")
    text = body["messages"][-1]["content"].strip()
    await asyncio.sleep(_THINKING_SECONDS)
    if text == FAILS:
        return web.json_response({"error": {"message": "as you wish"}}, status=500)
    whole = said(key, text)
    if not body.get("stream"):
        return web.json_response(chat_answer(whole, model=body["model"]))
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    size = len(whole) // _PIECES + 1
    for start in range(0, len(whole), size):
        await response.write(_piece(whole[start : start + size], None, body["model"]))
        await asyncio.sleep(_PIECE_SECONDS)
    await response.write(_piece("", "stop", body["model"]) + DONE)
    return response


def _piece(text: str, reason: str | None, model: str) -> bytes:
    delta = {"role": "assistant", "content": text} if reason is None else {}
    return frame(
        {
            "id": "chatcmpl-echo",
            "object": "chat.completion.chunk",
            "created": 1_764_500_000,
            "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
    )


async def _is_ready(request: web.Request) -> web.Response:
    return web.Response()


def main(port: int) -> None:
    """Serve until SIGTERM."""
    application = web.Application()
    application.router.add_post("/v1/chat/completions", _answer)
    application.router.add_get("/v1/models", _is_ready)
    web.run_app(
        application,
        host="127.0.0.1",
        port=port,
        access_log=None,
        print=None,
        loop=uvloop.new_event_loop(),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
