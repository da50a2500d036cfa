"""Handshakes that are verified as an API server does."""

import asyncio
import contextlib
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME: Python has no name for it. For clocks that tests move."""


def verifier(bundle: bytes, *, checks_time: bool = True) -> ssl.SSLContext:
    """A client's side that trusts a bundle alone, as the API server does. Raises ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if not checks_time:
        context.verify_flags |= NO_CHECK_TIME
    context.load_verify_locations(cadata=bundle.decode("ascii"))
    return context


def verify(
    chain: bytes,
    key: bytes,
    bundle: bytes,
    name: str,
    *,
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> None:
    """One handshake in memory. Raises ssl.SSLCertVerificationError; looks at no clock."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.maximum_version = version
    with TemporaryDirectory() as directory:
        pair = Path(directory, "pair.pem")
        pair.write_bytes(key + chain)
        server_context.load_cert_chain(pair)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    client = verifier(bundle, checks_time=False).wrap_bio(
        to_client, to_server, server_hostname=name
    )
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)


async def shown(port: int, bundle: bytes, name: str, *, checks_time: bool = True) -> bytes:
    """Connect to a listener on loopback; the certificate that it shows, in DER.

    Raises OSError, of which ssl.SSLError is one.
    """
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=verifier(bundle, checks_time=checks_time), server_hostname=name
    )
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    assert isinstance(found, bytes)
    return found
