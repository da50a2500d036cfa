"""An application: asks by the Python SDK what standard input says, a JSON object a line.

{"question": str, "stream": bool} -> {"text", "request_id", "cache_status"}, or {"error": {"kind",
"status", "code", "request_id"}}; a stream says {"begun": true} at its first piece.
"""

import json
import sys
from typing import Any

from openai import APIConnectionError, APIStatusError, OpenAI


def main() -> None:
    """Answer every line by a line."""
    client = OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY are all that it is told
    for line in sys.stdin:
        try:
            told = _ask(client, **json.loads(line))
        except APIStatusError as error:
            told = {
                "error": {
                    "kind": type(error).__name__,
                    "status": error.status_code,
                    "code": error.code,
                    "request_id": error.request_id,
                }
            }
        except APIConnectionError as error:
            told = {"error": {"kind": type(error).__name__}}
        _tell(told)


def _ask(client: OpenAI, question: str, stream: bool) -> dict[str, Any]:
    body: Any = {
        "model": "m",
        "temperature": 0,
        "messages": [{"role": "user", "content": question}],
    }
    raw = client.chat.completions.with_raw_response.create(**body, stream=stream)
    answer: Any = raw.parse()
    if not stream:
        return _told(answer.choices[0].message.content, raw.headers, answer._request_id)
    pieces: list[str] = []
    for chunk in answer:
        if not pieces:
            _tell({"begun": True})
        pieces += [choice.delta.content or "" for choice in chunk.choices]
    return _told("".join(pieces), raw.headers, raw.headers.get("x-request-id"))


def _told(text: str, fields: Any, request_id: str | None) -> dict[str, Any]:
    return {"text": text, "cache_status": fields.get("cache-status"), "request_id": request_id}


def _tell(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
