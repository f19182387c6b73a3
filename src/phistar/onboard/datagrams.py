"""UDP: datagrams to one address and from any, and rows of numbers as datagrams."""

from __future__ import annotations

import contextlib
import socket
import time

import numpy as np

from phistar.array_types import Array
from phistar.errors import FileError, ShapeError

LARGEST = 65_507  # bytes of a datagram


class Datagrams:
    """A socket at `local` (port 0: any free one; `address` has it) that sends to `remote`."""

    def __init__(self, local: tuple[str, int], remote: tuple[str, int]) -> None:
        self.remote = remote
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(local)
        except OSError as error:
            self._socket.close()
            raise FileError(f"UDP at {local[0]}:{local[1]} cannot be had: {error.strerror or error}.") from error
        self.address: tuple[str, int] = self._socket.getsockname()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # nobody listens yet: a silent end, which loops notice
            self._socket.sendto(data, self.remote)

    def receive(self, timeout: float) -> bytes | None:
        """The next datagram, waited for so many seconds at most."""
        self._socket.settimeout(max(timeout, 0.0))
        try:
            return self._socket.recv(LARGEST)
        except (TimeoutError, BlockingIOError):
            return None
        except ConnectionError:
            return b""


class MessageLink:
    """Messages of a teleoperation over UDP: each is a datagram of little-endian doubles.

    Datagrams of another length, or with entries that are no finite numbers, are counted in `refused` and dropped.

    Parameters
    ----------
    entries : int
        Length of the messages that arrive.
    local, remote : (str, int)
        Addresses; port 0 of `local` is any free one (`link.address` has it).

    Examples
    --------
    >>> with ps.onboard.MessageLink(20, ("127.0.0.1", 0), ("127.0.0.1", 9)) as link:
    ...     link.read(0.0) is None
    True
    """

    def __init__(self, entries: int, local: tuple[str, int], remote: tuple[str, int]) -> None:
        if not isinstance(entries, int) or not 1 <= entries <= LARGEST // 8:
            raise ShapeError(f"A message has 1 to {LARGEST // 8} entries; it was given {entries!r:.50}.")
        self.entries, self.refused, self._datagrams = entries, 0, Datagrams(local, remote)
        self.address = self._datagrams.address

    def __enter__(self) -> MessageLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._datagrams.close()

    def read(self, timeout: float = 0.0) -> Array | None:
        """The message that arrived last, waited for so many seconds at most; its first entry is its number."""
        newest, until = None, time.perf_counter() + timeout
        while (data := self._datagrams.receive(0.0 if newest is not None else until - time.perf_counter())) is not None:
            row = np.frombuffer(data, "<f8").copy() if len(data) == 8 * self.entries else np.zeros(0)
            if len(row) and np.isfinite(row).all():
                newest = row if newest is None or row[0] > newest[0] else newest
            elif data:
                self.refused += 1
        return newest

    def write(self, message: Array) -> None:
        self._datagrams.send(np.asarray(message, dtype="<f8").tobytes())
