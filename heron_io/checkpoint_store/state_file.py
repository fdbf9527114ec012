"""The file of one saved state, which shows whether it is whole.

header (16 bytes)  magic b"HCKP", u32 crc of the state, u64 its length; little endian
state
"""

import struct
import zlib

from heron_io.checkpoint_store.protocol import StateDamaged

_HEADER = struct.Struct("<4sIQ")
_MAGIC = b"HCKP"


def header_of(state: bytes) -> bytes:
    """What stands before a state."""
    return _HEADER.pack(_MAGIC, zlib.crc32(state), len(state))


def state_in(data: bytes, path: str) -> bytes:
    """The state of a file's content; StateDamaged, which names the file, if it is damaged."""
    if len(data) < _HEADER.size:
        raise StateDamaged(f"{path} is damaged: it is cut after {len(data)} bytes")
    magic, crc, length = _HEADER.unpack_from(data)
    state = data[_HEADER.size :]
    if magic != _MAGIC or length != len(state) or crc != zlib.crc32(state):
        raise StateDamaged(f"{path} is damaged: it is not what was saved there")
    return state
