"""The viewer's server: viser's, behind a guard that lets in one page's own messages and nothing else.

viser serves whoever asks. A page of another site that a person has open could ask too, by the machine's address or by
a name that it makes point there. So before viser sees a request, its Host must be this server's and its Origin this
server's page; and before viser sees a message, it must be one that the page sends, small and with numbers in it.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import logging
import math
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from phistar.errors import PhistarError

LARGEST_MESSAGE = 256 * 1024  # bytes; what a page sends has some hundred
LONGEST_TEXT = 4096
REFUSED = 1008  # websocket's code for a message against the rules
# What a page of this viewer sends; shares, uploads and the rest of viser's messages are not for it.
EXPECTED = (
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "SceneNodeClickMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
)
# The page holds its own scripts; it may speak to this server alone, and stand in nobody's frame.
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; "
    "connect-src 'self' ws://{host} blob: data:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)

_log = logging.getLogger("phistar")
_opening = threading.Lock()


@dataclass(frozen=True)
class Guard:
    """Who may ask: pages of this server, under an address or name that is this machine's."""

    host: str

    def names(self, name: str) -> bool:
        """Whether a Host header's name is this server's. A number cannot be made to point elsewhere; names can."""
        if name == "localhost" or name == self.host.lower():
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return self.open and name == socket.gethostname().lower()
        return self.open or address.is_loopback

    @property
    def open(self) -> bool:
        """Whether it listens to other machines."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"

    def complaint(self, headers: Mapping[str, str], port: int) -> str | None:
        """Return the reason a request is refused, or None."""
        host = headers.get("Host", "")
        try:
            asked = urlsplit(f"//{host}")
            right = asked.hostname is not None and self.names(asked.hostname) and (asked.port or 80) == port
        except ValueError:
            right = False
        if not right:
            return f"This server is not {host[:100]!r}."
        origin = headers.get("Origin")
        if origin is None:
            return "Only this server's own page may connect." if headers.get("Upgrade") else None
        return None if origin == f"http://{host}" else f"Pages of {origin[:100]!r} may not connect."


def open_server(host: str = "127.0.0.1", port: int = 0, label: str = "phistar") -> Any:
    """A guarded `viser.ViserServer`; port 0 takes any free one, and a port in use is refused."""
    try:
        import viser
        import websockets.asyncio.server as served
    except ImportError:
        raise PhistarError("The viewer needs the package viser: pip install 'phistar[view]'.") from None
    guard, used = Guard(host), []
    _check_free(host, port)
    plain = served.serve

    def serve_guarded(handler: Callable[..., Any], *place: Any, **options: Any) -> Any:
        used.append(True)
        return plain(_handler(handler), *place, **_options(options, guard))

    # viser calls websockets itself and offers no place for a guard, so it is given ours while it starts.
    with _opening, contextlib.redirect_stdout(io.StringIO()):
        served.serve = serve_guarded  # pyright: ignore[reportAttributeAccessIssue]
        try:
            server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
        finally:
            served.serve = plain  # pyright: ignore[reportAttributeAccessIssue]
    if not used:
        close_server(server)
        raise PhistarError(f"This viser ({viser.__version__}) starts its server in a way that cannot be guarded.")
    loop = server.get_event_loop()
    loop.call_soon_threadsafe(loop.set_exception_handler, _quiet)
    return server


def _quiet(loop: Any, context: Mapping[str, Any]) -> None:
    """viser fails on values that do not fit a control; the control keeps its value, and the log says so."""
    _log.info("viewer: a message was left out (%s).", context.get("exception") or context.get("message"))


def address_of(server: Any) -> str:
    """Return the address under which a browser on this machine opens the page."""
    host = server.get_host()
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{server.get_port()}/"


def close_server(server: Any) -> None:
    """Stop it; viser's own words about that are left out."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def _check_free(host: str, port: int) -> None:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise PhistarError(
            f"The viewer cannot listen on {host}, port {port}: {error.strerror or error}; "
            "choose others with --host and --port."
        ) from None


def _options(options: dict[str, Any], guard: Guard) -> dict[str, Any]:
    """Return options for websockets with which the guard sees requests before viser, and viser's answers."""
    answer = options["process_request"]

    def process(connection: Any, request: Any) -> Any:
        try:
            complaint = guard.complaint(request.headers, connection.local_address[1])
        except LookupError:  # a header is there twice
            complaint = "Host and Origin may each be given once."
        if complaint is not None:
            _log.warning("viewer: refused %s. %s", request.path[:100], complaint)
            return connection.respond(HTTPStatus.FORBIDDEN, complaint + "\n")
        response = answer(connection, request)
        if response is not None:
            response.headers["Content-Security-Policy"] = POLICY.format(host=request.headers["Host"])
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return options | {"process_request": process, "max_size": LARGEST_MESSAGE}


def _handler(handler: Callable[..., Any]) -> Callable[..., Any]:
    """viser's handler, given only messages that are expected; the first that is not ends the connection."""

    async def handle(connection: Any) -> None:
        receive = connection.recv

        async def recv() -> Any:
            raw = await receive()
            complaint = message_complaint(raw)
            if complaint is None:
                return raw
            _log.warning("viewer: a connection was ended. %s", complaint)
            await connection.close(REFUSED, complaint[:100])
            return await receive()  # raises: it is closed

        connection.recv = recv
        await handler(connection)

    return handle


def message_complaint(raw: Any) -> str | None:
    """Return the reason a message is refused, or None where the page may have sent it."""
    import msgspec
    from viser._messages import Message

    if not isinstance(raw, bytes):
        return "A message is binary; this one is text."
    try:
        content = msgspec.msgpack.decode(raw)
    except (msgspec.MsgspecError, RecursionError, TypeError, ValueError):  # nested too deeply, keys that are lists, …
        return "A message is msgpack; this one is not."
    kind = content.get("type") if isinstance(content, dict) else None
    if kind not in EXPECTED:
        return f"Messages of the kind {str(kind)[:40]!r} are not expected."
    complaint = _values(content)
    if complaint is not None:
        return complaint
    updates = content.get("updates")
    if kind == "GuiUpdateMessage" and not (isinstance(updates, dict) and list(updates) == ["value"]):
        return "Of a control, a page may change the value alone."
    if (complaint := _vector_complaint(content)) is not None:
        return complaint
    try:
        Message.deserialize(raw)
    except Exception:  # whatever it is that viser would have stumbled over
        return f"The fields of a {kind} are wrong."
    return None


def _values(value: Any, depth: int = 0) -> str | None:
    """Numbers must be finite, texts short, lists shallow."""
    if isinstance(value, float) and not math.isfinite(value):
        return "Numbers must be finite."
    if isinstance(value, str | bytes) and len(value) > LONGEST_TEXT:
        return f"Texts have at most {LONGEST_TEXT} characters."
    if isinstance(value, dict | list):
        if depth > 4:
            return "Lists are nested too deeply."
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        return next((found for part in parts if (found := _values(part, depth + 1)) is not None), None)
    return None


def _vector_complaint(content: dict[str, Any]) -> str | None:
    """viser lets vectors of any length pass, and texts where numbers belong."""
    lengths = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3, "ray_origin": 3, "ray_direction": 3}
    for name, length in lengths.items():
        if name in content:
            vector = content[name]
            if not isinstance(vector, list) or len(vector) != length or not all(map(_is_number, vector)):
                return f"{name} needs {length} numbers."
    for name in ("name", "uuid", "owner"):
        if name in content and not isinstance(content[name], str):
            return f"{name} must be a text."
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
