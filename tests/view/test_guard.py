"""The viewer's server answers its own page and nobody else."""

import asyncio
import math
import socket
from types import SimpleNamespace

import pytest

viser = pytest.importorskip("viser", reason="the viewer needs viser")
msgspec = pytest.importorskip("msgspec")
websockets = pytest.importorskip("websockets")

from websockets.asyncio.client import connect  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

from phistar.errors import PhistarError  # noqa: E402
from phistar.view.guard import (  # noqa: E402
    EXPECTED,
    LARGEST_MESSAGE,
    Guard,
    address_of,
    close_server,
    message_complaint,
    open_server,
)

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 0.0, 0.0],
    "fov": 1.0,
    "near": 0.01,
    "far": 100.0,
    "image_height": 100,
    "image_width": 100,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}


@pytest.fixture(scope="module")
def server():
    opened = open_server()
    opened.gui.add_slider("turn", min=0.0, max=1.0, step=0.1, initial_value=0.0)
    yield opened
    close_server(opened)


def talk(server, *messages, origin=None, host=None):
    """Connect as a page would, send, and give the code with which the server ended it (None: it did not)."""
    port = server.get_port()

    async def spoken():
        socket_to_server = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port))
        name = host or f"127.0.0.1:{port}"
        page = connect(
            f"ws://{name}/",
            sock=socket_to_server,
            origin=origin if origin is not None else f"http://{name}",
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        )
        async with page as connection:
            for message in messages:
                await connection.send(message)
            try:
                async with asyncio.timeout(0.4):
                    while True:
                        await connection.recv()
            except TimeoutError:
                return None
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else "dropped"

    return asyncio.run(spoken())


def raw(server, *lines):
    """The first line of the answer to a request written by hand."""
    with socket.create_connection(("127.0.0.1", server.get_port()), timeout=60.0) as plain:
        plain.sendall("\r\n".join([*lines, "", ""]).encode())
        return plain.makefile("rb").readline().decode().strip()


def packed(**content):
    return msgspec.msgpack.encode(content)


def test_the_own_page_is_served_and_heard(server):
    assert "200" in raw(server, "GET / HTTP/1.1", f"Host: 127.0.0.1:{server.get_port()}")
    assert "200" in raw(server, "GET / HTTP/1.1", f"Host: localhost:{server.get_port()}")
    assert talk(server, packed(**CAMERA)) is None
    assert talk(server, packed(**CAMERA), host=f"localhost:{server.get_port()}") is None


def test_it_listens_on_this_machine_alone(server):
    assert server.get_host() == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "192.168.0.7:{port}", "", "[:{port}"]
)
def test_requests_for_other_hosts_are_refused(server, host):
    """A name that an attacker points at this machine (DNS rebinding) is such a host."""
    named = host.format(port=server.get_port())
    assert "403" in raw(server, "GET / HTTP/1.1", f"Host: {named}")


def test_a_second_host_is_refused(server):
    own = f"Host: 127.0.0.1:{server.get_port()}"
    assert "403" in raw(server, "GET / HTTP/1.1", own, "Host: evil.example")


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null"])
def test_pages_of_other_origins_cannot_connect(server, origin):
    with pytest.raises(InvalidStatus) as refusal:
        talk(server, origin=origin.format(port=server.get_port()))
    assert refusal.value.response.status_code == 403


def test_who_gives_no_origin_cannot_connect(server):
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"
    host = f"Host: 127.0.0.1:{server.get_port()}"
    assert "403" in raw(server, "GET / HTTP/1.1", host, "Upgrade: websocket", "Connection: Upgrade", *key)


def test_oversized_messages_end_the_connection(server):
    assert talk(server, b"x" * (LARGEST_MESSAGE + 1)) == 1009


@pytest.mark.parametrize(
    "message",
    [
        "text",
        b"",
        b"\xc1\xc1",
        packed(type="Nothing"),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode(None),
        packed(type="ShareUrlRequest"),
        packed(type="FileTransferStartUpload", source_component_uuid="x", transfer_uuid="y", filename="f"),
        packed(type="RunJavascriptMessage", source="alert(1)"),
        packed(type="ViewerCameraMessage"),
        packed(**{**CAMERA, "position": [1.0, 2.0]}),
        packed(**{**CAMERA, "position": ["a", "b", "c"]}),
        packed(**{**CAMERA, "fov": math.nan}),
        packed(**{**CAMERA, "unknown": 1}),
        packed(type="GuiUpdateMessage", uuid="x", updates={"update_cb": []}),
        packed(type="GuiUpdateMessage", uuid="x", updates={}),
        packed(type="GuiUpdateMessage", uuid=["x"], updates={"value": 1}),
        packed(type="GuiUpdateMessage", uuid="x", updates={"value": "x" * 5000}),
        packed(type="GuiUpdateMessage", uuid="x", updates={"value": [[[[[[1]]]]]]}),
        packed(type=["GuiUpdateMessage"], uuid="x"),
    ],
    ids=lambda message: repr(message)[:40],
)
def test_malformed_messages_are_not_expected(message):
    assert message_complaint(message) is not None


def nested(depth):
    """A list in a list in a list …, as msgpack."""
    return b"\x82\xa4type\xb3ViewerCameraMessage\xa1x" + depth * b"\x91" + b"\xc0"


@pytest.mark.parametrize("depth", [10, 2000, 200_000])
def test_messages_that_are_nested_deeply_are_not_expected(depth):
    assert message_complaint(nested(depth)) is not None


@pytest.mark.parametrize("updates", [5, [[1]], "value", None, {"value": 1, "x": 2}])
def test_updates_that_are_no_value_are_not_expected(updates):
    message = {"type": "GuiUpdateMessage", "uuid": "x", "updates": updates}
    assert message_complaint(msgspec.msgpack.encode(message)) is not None


def test_a_deeply_nested_message_ends_the_connection_without_a_traceback(server, capfd, caplog):
    assert talk(server, nested(200_000)) == 1008
    seen = capfd.readouterr()
    assert "Traceback" not in seen.err + seen.out + caplog.text


def test_what_a_page_sends_is_expected():
    assert message_complaint(packed(**CAMERA)) is None
    assert message_complaint(packed(type="GuiUpdateMessage", uuid="x", updates={"value": 0.5})) is None
    place = {"name": "/gizmo", "wxyz": [1, 0, 0, 0], "position": [0, 0, 1.5], "owner": ""}
    assert message_complaint(packed(type="TransformControlsUpdateMessage", **place)) is None


def test_every_expected_kind_is_one_of_visers():
    from viser._messages import Message

    assert set(EXPECTED) <= {kind.__name__ for kind in Message.get_subclasses()}


@pytest.mark.parametrize("message", ["text", b"\xc1", packed(type="ShareUrlRequest")], ids=["text", "junk", "share"])
def test_malformed_messages_end_the_connection_and_nothing_else(server, message):
    assert talk(server, message) == 1008
    assert talk(server, packed(**CAMERA)) is None


def test_a_value_of_the_wrong_kind_changes_nothing(server, caplog):
    slider = server.gui.add_slider("lean", min=0.0, max=1.0, step=0.1, initial_value=0.5)
    uuid = slider._impl.uuid
    for value in ("much", [1, 2], None, {"a": 1}):
        talk(server, packed(**CAMERA), packed(type="GuiUpdateMessage", uuid=uuid, updates={"value": value}))
    assert slider.value == 0.5
    assert "Traceback" not in caplog.text


def test_the_page_may_speak_to_this_server_alone(server):
    with socket.create_connection(("127.0.0.1", server.get_port()), timeout=60.0) as plain:
        plain.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.get_port()}\r\n\r\n".encode())
        head = plain.makefile("rb").read(2000).decode("latin-1")
    assert f"connect-src 'self' ws://127.0.0.1:{server.get_port()}" in head
    assert "frame-ancestors 'none'" in head


def test_a_server_open_to_other_machines_answers_addresses_but_not_foreign_names():
    guard = Guard("0.0.0.0")
    assert guard.complaint({"Host": "192.168.0.7:8080"}, 8080) is None
    assert guard.complaint({"Host": "evil.example:8080"}, 8080) is not None
    assert Guard("robot.lab").complaint({"Host": "robot.lab:8080"}, 8080) is None
    assert Guard("127.0.0.1").complaint({"Host": "192.168.0.7:8080"}, 8080) is not None


@pytest.mark.parametrize("host, name", [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("lab", "lab")])
def test_a_browser_is_told_where_to_find_it(host, name):
    server = SimpleNamespace(get_host=lambda: host, get_port=lambda: 8080)
    assert address_of(server) == f"http://{name}:8080/"
    assert Guard(host).complaint({"Host": f"{name}:8080"}, 8080) is None


def test_a_port_in_use_is_refused_with_a_sentence(server):
    with pytest.raises(PhistarError, match=r"cannot listen on 127\.0\.0\.1"):
        open_server(port=server.get_port())
    with pytest.raises(PhistarError, match="cannot listen on"):
        open_server(host="no.such.host.invalid")
