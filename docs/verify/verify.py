"""Verifies a webhook in Python 3 with the standard library alone."""

import base64
import hashlib
import hmac


def verify(secret, id, timestamp, signature, body, now_seconds):
    """Says whether a request is genuine. `body` is the bytes as they came; `now_seconds` is time.time()."""
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now_seconds - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    if not key:  # A secret that is not set must not be one that anybody knows.
        return False
    signed = f"{id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(expected, entry.encode()) for entry in signature.split(" "))
