"""An S3 server of this machine, behind a proxy that answers wrongly, late or not at all, and repeats and delays requests.
The proxy understands the clients of Google's and Azure's stores, too, as far as published directories need it.

`python -m tests.snapshot.faulty_server` prints the port of the server and that of the proxy; then each line of standard
input sets the faults: a number, which seeds them, how likely they are, and which there are, if not all. Numbers among
these say how many of the next requests come together: none of them is answered before the last of them is there. The
answer says how many faults and requests there were. It runs in a process of its own, since those that are killed
meanwhile are forked.
"""

from __future__ import annotations

import http.client
import http.server
import json
import logging
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

BUCKET = "bucket"
INTERPRETER = os.environ.get("S3_SERVER", sys.executable)
"""What runs the server, if this interpreter has no moto."""
AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=k/x/us-east-1/s3/aws4_request"

FAULTS: tuple[str, ...] = (
    "refused",
    "busy",
    "unheard",
    "done and unheard",
    "done and failed",
    "conflict",
    "twice",
    "late",
    "slow",
)
"""What happens to a request: it is refused (500), or put off (503); it is lost, or its answer is; it is carried out and
answered by 500; it meets another one (409); it arrives twice; it arrives after it was answered by 500; it takes long."""


LISTED = re.compile("<Contents>.*?<Key>(.*?)</Key>.*?<ETag>(.*?)</ETag>.*?<Size>(.*?)</Size>.*?</Contents>", re.DOTALL)
BLOB = (
    "<Blob><Name>{0}</Name><Properties><Etag>{1}</Etag><Content-Length>{2}</Content-Length><Content-Type/>"
    "<Last-Modified>Mon, 30 Nov 2026 00:00:00 GMT</Last-Modified><BlobType>BlockBlob</BlobType></Properties></Blob>"
)
"""An object in a listing of S3's, and in one of Azure's."""


class Faults:
    """Which requests fail, and how often each fault came."""

    def __init__(self) -> None:
        self.chance, self.share, self.kinds, self.seen = random.Random(0), 0.0, FAULTS, Counter[str]()
        self.lock, self.late, self.trips = threading.Lock(), list[threading.Timer](), list[threading.Barrier]()

    def draw(self) -> str | None:
        with self.lock:
            fault = self.chance.choice(self.kinds) if self.chance.random() < self.share else None
            self.seen[str(fault)] += 1
            together = self.trips.pop(0).wait if self.trips else int
        together()
        return fault

    def delay(self, carry_out: Callable[[Request], object], request: Request) -> None:
        with self.lock:
            self.late.append(threading.Timer(self.chance.uniform(0.01, 0.3), carry_out, (request,)))
            self.late[-1].start()

    def set(self, line: str) -> str:
        """Set them, wait for what is late, and return how many there were until now, and how many requests."""
        seed, share, *kinds = line.strip().split(",")
        with self.lock:
            self.chance, self.share, self.kinds = random.Random(int(seed)), float(share), tuple(kinds) or FAULTS
            self.trips = [
                each
                for kind in kinds
                if kind.isdigit()
                for each in [threading.Barrier(int(kind), timeout=10)] * int(kind)
            ]
            late, self.late = self.late, []
        for timer in late:
            timer.join()
        with self.lock:
            return f"{self.seen.total() - self.seen['None']} {self.seen.total()}"


Answer = tuple[int, list[tuple[str, str]], bytes]
"""A status, headers and content."""


class Request(NamedTuple):
    """A request as it came. It may be carried out when its connection has gone on to another one."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else what follows the headers waits 40 ms for the client to say that it has them
    faults: Faults
    server_port: int
    puts = threading.Lock()  # whether an object is there and creating it is one step, whatever the server does

    def log_message(self, *_: Any) -> None:
        return

    def go(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # who sent it was killed
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        for name in ("connection", "content-length"):
            headers.pop(name, None)
        if not headers.get("authorization", "").startswith("AWS"):
            headers["authorization"] = AUTHORIZATION
        if "x-goog-if-generation-match" in headers:
            headers["if-none-match"] = "*"
        request = Request(self.command, self.path, headers, body)
        fault = self.faults.draw()
        if fault in ("refused", "busy"):
            self.answer(500 if fault == "refused" else 503, [], b"")
        elif fault == "unheard":
            self.close_connection = True
        elif fault == "conflict" and self.command == "PUT":
            self.answer(409, [], b"<Error><Code>ConditionalRequestConflict</Code></Error>")
        elif fault == "late":
            self.faults.delay(self.carry_out, request)
            self.answer(500, [], b"")
        else:
            if fault == "slow":
                time.sleep(self.faults.chance.uniform(0, 0.2))
            if fault == "twice":
                self.carry_out(request)
            status, answered, content = self.carry_out(request)
            if fault == "done and unheard":
                self.close_connection = True
            elif fault == "done and failed":
                self.answer(500, [], b"")
            else:
                self.answer(status, answered, content)

    def carry_out(self, request: Request) -> Answer:
        """Do what a request asks, whosever it is. Azure's clients list and remove in a way of their own."""
        asked = dict(parse_qsl(urlsplit(request.path).query))
        if asked.get("comp") == "list":
            query = {"list-type": "2", **{name: asked[name] for name in ("prefix", "delimiter") if name in asked}}
            status, _, content = self.ask(request._replace(path=f"/{BUCKET}?{urlencode(query)}"))
            text = "".join(BLOB.format(*found) for found in LISTED.findall(content.decode()))
            for folder in re.findall("<CommonPrefixes><Prefix>(.*?)</Prefix>", content.decode()):
                text += f"<BlobPrefix><Name>{folder}</Name></BlobPrefix>"
            return status, [], f"<EnumerationResults><Blobs>{text}</Blobs><NextMarker/></EnumerationResults>".encode()
        if asked.get("comp") != "batch":
            return self.ask(request)
        text = ""
        for number, path in enumerate(re.findall(r"DELETE (\S+) HTTP", request.body.decode())):
            self.ask(request._replace(method="DELETE", path=path, body=b""))
            text += (
                f"--part\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"
            )
        return 202, [("Content-Type", "multipart/mixed; boundary=part")], f"{text}--part--\r\n".encode()

    def ask(self, request: Request) -> Answer:
        with self.puts:
            connection = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=30)
            connection.request(*request[:2], request.body, request.headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
        return answer.status, answer.getheaders(), content

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length":
                length = value
            elif name.lower() not in ("transfer-encoding", "connection", "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = go  # noqa: N815 (as http.server calls them)


class Proxies(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        return


class Server:
    """The server, and the storage options that lead to it: past its faults, or through them."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self.program = program
        assert program.stdout is not None
        self.ports = program.stdout.readline().split()
        self.good, self.faulty = (self.storage(port) for port in self.ports)

    def storage(self, port: str) -> dict[str, Any]:
        keys = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
        return {**keys, "endpoint": f"http://127.0.0.1:{port}"}

    def place(self, scheme: str, name: str) -> tuple[str, dict[str, Any]]:
        """A place in the bucket as the clients of this scheme see it, through the faults, and their options."""
        url = self.faulty["endpoint"]
        account = {
            "gcs_base_url": url,
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        options: dict[str, dict[str, Any]] = {
            "s3": self.faulty,
            "gs": {"service_account_key": json.dumps(account), "client_options": {"allow_http": True}},
            "az": {"account_name": "key", "access_key": "a2V5", "endpoint": url},
        }
        return f"{scheme}://{BUCKET}/{name}", options[scheme]

    def uri(self, name: str, *, faulty: bool = True) -> str:
        """The same as a URI that says all."""
        storage = self.faulty if faulty else self.good
        return f"s3://{BUCKET}/{name}?" + "&".join(f"{key}={value}" for key, value in storage.items())

    def fail(self, seed: int, share: float, *kinds: str) -> int:
        """Fail so many of the requests. Returns how many have failed until now."""
        return self._set(seed, share, *kinds)[0]

    def requests(self, *trips: int) -> int:
        """How many requests came through the faults, of which there are none from now on. The next ones come so many
        at a time."""
        return self._set(0, 0, *trips)[1]

    def _set(self, *line: object) -> list[int]:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        print(*line, sep=",", file=self.program.stdin, flush=True)
        return list(map(int, self.program.stdout.readline().split()))


@contextmanager
def serving() -> Iterator[Server]:
    """Run the server."""
    command, root = [INTERPRETER, "-m", "tests.snapshot.faulty_server"], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as program:
        try:
            yield Server(program)
        finally:
            program.kill()


def main() -> None:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    Proxy.server_port, Proxy.faults = server.get_host_and_port()[1], Faults()
    connection = http.client.HTTPConnection("127.0.0.1", Proxy.server_port)
    connection.request("PUT", f"/{BUCKET}", b"", {"Authorization": AUTHORIZATION})
    assert connection.getresponse().status == 200
    proxy = Proxies(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    print(Proxy.server_port, proxy.server_address[1], flush=True)
    for line in sys.stdin:
        print(Proxy.faults.set(line), flush=True)


if __name__ == "__main__":
    main()
