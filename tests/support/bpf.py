"""An interpreter of classic BPF, as far as filters of system calls use it."""

import struct
from collections.abc import Sequence

ALLOWED = "allowed"
KILLED = "killed"

_WORD = 0xFFFFFFFF


def verdict(program: bytes, machine: int, number: int, arguments: Sequence[int] = ()) -> str | int:
    """What the kernel would do with a call: `ALLOWED`, `KILLED` or the error that it answers."""
    packed = struct.pack("=IIQ6Q", number, machine, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", program))
    accumulator = position = 0
    while True:
        code, then, otherwise, value = steps[position]
        position += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", packed, value)
            case 0x54:
                accumulator &= value & _WORD
            case 0x15:
                position += then if accumulator == value else otherwise
            case 0x35:
                position += then if accumulator >= value else otherwise
            case 0x06:
                return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}.get(value) or value & 0xFFFF
            case _:
                raise AssertionError(f"no instruction of a filter: {code:#x}")
