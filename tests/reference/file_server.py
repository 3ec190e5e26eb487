"""A web server on loopback that fails as planned, and remembers what it was asked."""

import base64
import contextlib
import hashlib
import http.server
import threading


class FileServer:
    """Serves `files`; the first answers to a path may be others.

    Attributes:
      url: its address.
      files: content by path.
      asked: (path, headers) of each request, in order.
      first: by path, what to answer first: an int, this status; ("break", n), n bytes and then
        the end; ("redirect", address); ("range", header), a partial answer with this range.
      headers: by path, further headers of answers.
      resumes: whether ranges are answered.
      pause: every answer waits for it.
    """

    def __init__(self):
        self.files, self.asked, self.first, self.headers = {}, [], {}, {}
        self.resumes = True
        self.pause = threading.Event()
        self.pause.set()

    @property
    def paths(self):
        """Paths asked for, in order."""
        return [path for path, _ in self.asked]

    @property
    def ranges(self):
        """The Range header of each request, or None."""
        return [headers.get("Range") for _, headers in self.asked]

    def google_hash(self, path, data=None):
        """Adds the md5 of the file, or of `data`, to answers for `path`, as Google's hosts do."""
        digest = hashlib.md5(self.files[path] if data is None else data).digest()
        self.headers[path] = {"x-goog-hash": f"md5={base64.b64encode(digest).decode()}"}

    def answer(self, handler):
        path = handler.path.partition("?")[0]
        headers = {name.title(): value for name, value in handler.headers.items()}
        self.asked.append((handler.path, headers))
        self.pause.wait(30)
        plan = self.first.get(path, [])
        event = plan.pop(0) if plan else None
        if isinstance(event, int):
            return _send(handler, event, {"Retry-After": "0", **self.headers.get(path, {})})
        if event and event[0] == "redirect":
            return _send(handler, 302, {"Location": event[1]})
        if event and event[0] == "range":
            return _send(handler, 206, {"Content-Range": event[1]})
        if path not in self.files:
            return _send(handler, 404, {})
        data, headers = self.files[path], dict(self.headers.get(path, {}))
        status, start = 200, 0
        wanted = handler.headers.get("Range")
        if wanted and self.resumes:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return _send(handler, 416, {"Content-Range": f"bytes */{len(data)}"})
            status = 206
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        end = start + event[1] if event else None
        return _send(handler, status, headers, data[start:], data[start:end])


def _send(handler, status, headers, data=b"", sent=None):
    """Promises `data` and sends `sent` of it."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data if sent is None else sent)
    handler.close_connection = True


@contextlib.contextmanager
def running():
    """Yields a `FileServer` that runs in a thread."""
    server = FileServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            server.answer(self)

        def log_message(self, *_):
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
