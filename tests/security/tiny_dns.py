"""A name server for one machine: names answer by a script, so that they can mean one thing now and another soon."""

import ipaddress
import socket
import struct
import threading
from collections.abc import Mapping, Sequence

A, AAAA = 1, 28
NO_SUCH_NAME = 3

type Answers = Sequence[Sequence[str]]
"""What a name stands for at the first question, the second, ...; the last one stays."""


class TinyDns(threading.Thread):
    """Serves ``zone`` on UDP port 53 of ``address``; only questions for IPv4 move a script on."""

    def __init__(self, address: str, zone: Mapping[str, Answers]) -> None:
        super().__init__(daemon=True)
        self._zone = zone
        self._asked = dict.fromkeys(zone, 0)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))

    def run(self) -> None:
        while True:
            question, peer = self._socket.recvfrom(1024)
            self._socket.sendto(self._answer(question), peer)

    def _answer(self, query: bytes) -> bytes:
        name, kind, end = _question(query)
        addresses = self._addresses(name, kind)
        found = [ipaddress.ip_address(text) for text in addresses or ()]
        records = [address.packed for address in found if address.version == (6 if kind == AAAA else 4)]
        code = NO_SUCH_NAME if addresses is None else 0
        header = query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        bodies = (b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed for packed in records)
        return header + query[12:end] + b"".join(bodies)

    def _addresses(self, name: str, kind: int) -> Sequence[str] | None:
        script = self._zone.get(name)
        if script is None:
            return None
        answer = script[min(self._asked[name], len(script) - 1)]
        self._asked[name] += kind == A
        return answer


def _question(query: bytes) -> tuple[str, int, int]:
    labels, place = [], 12
    while length := query[place]:
        labels.append(query[place + 1 : place + 1 + length].decode())
        place += 1 + length
    (kind,) = struct.unpack(">H", query[place + 1 : place + 3])
    return ".".join(labels).lower(), kind, place + 5
