"""A receiver of webhooks with the standard library alone: it keeps the titles of posts, and shows them at /posts.

    cp ../../docs/verify/verify.py . && WEBHOOK_SECRET=whsec_… PORT=3000 python3 receiver.py
"""

import json
import os
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from verify import verify

SECRET = os.environ["WEBHOOK_SECRET"]
BODY_BYTES_MAX = 5 * 1024 * 1024
HANDLED_MAX = 10_000

lock = threading.Lock()
handled = OrderedDict()  # ids of webhooks, the oldest first
titles = {}
sequences = {}  # the last state of each record; with a database, store it beside the record


class Receiver(BaseHTTPRequestHandler):
    timeout = 30  # seconds; whoever sends nothing for so long is hung up on

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if self.path != "/hook" or not (length.isascii() and length.isdigit()):
            return self.answer(404 if self.path != "/hook" else 411)
        if int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        webhook_id, timestamp, signature = (self.headers.get(name, "") for name in names)
        if not verify(SECRET, webhook_id, timestamp, signature, body, time.time()):
            return self.answer(401)
        with lock:
            if webhook_id not in handled:
                handle(json.loads(body), int(self.headers.get("x-service-sequence", "0")))
                # Only now: a webhook whose work has failed must be handled when it comes again.
                handled[webhook_id] = True
                if len(handled) > HANDLED_MAX:
                    handled.popitem(last=False)
        self.answer(200)

    def do_GET(self):
        with lock:
            posts = [{"id": id, "title": title} for id, title in titles.items()]
        self.answer(200, posts) if self.path == "/posts" else self.answer(404)

    def answer(self, status, value=None):
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def handle(event, sequence):
    if event["collection"] != "posts":
        return
    id = event["data"]["id"]
    if sequence <= sequences.get(id, 0):
        return  # A later state of this record was handled before.
    if event["event"] == "record.delete":
        titles.pop(id, None)
    else:
        # Of a record that was too large only the id is sent: fetch it.
        titles[id] = event["data"].get("title", "(fetch the record)")
    sequences[id] = sequence


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
