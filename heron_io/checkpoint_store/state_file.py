"""The file of one saved state, which shows whether it is whole, and who wrote it.

header (16 bytes)  magic b"HCKP", u32 crc of what follows, u64 length of the state; little endian
state
signature          32 bytes (signer.py), or none in a store that is not signed
"""

import struct
import zlib

from heron_io.checkpoint_store.protocol import StateDamaged
from heron_io.checkpoint_store.signer import SIGNATURE_BYTES

_HEADER = struct.Struct("<4sIQ")
_MAGIC = b"HCKP"


def header_of(state: bytes, signature: bytes = b"") -> bytes:
    """What stands before a state and its signature."""
    return _HEADER.pack(_MAGIC, _crc_of(state, signature), len(state))


def _crc_of(state: bytes, signature: bytes) -> int:
    return zlib.crc32(signature, zlib.crc32(state))


def state_in(data: bytes, path: str) -> tuple[bytes, bytes]:
    """The state and its signature (empty if there is none) of a file's content; StateDamaged, which
    names the file, if it is damaged."""
    if len(data) < _HEADER.size:
        raise StateDamaged(f"{path} is damaged: truncated after {len(data)} bytes")
    magic, crc, length = _HEADER.unpack_from(data)
    end = _HEADER.size + length
    state, signature = data[_HEADER.size : end], data[end:]
    is_whole = length == len(state) and len(signature) in (0, SIGNATURE_BYTES)
    if magic != _MAGIC or not is_whole or crc != _crc_of(state, signature):
        raise StateDamaged(f"{path} is damaged: it does not match its checksum")
    return state, signature
