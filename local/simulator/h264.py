"""The smallest honest H.264 stream: one flat-coloured key frame, then frames that repeat it.

The first macroblock carries its samples raw; every other one is predicted from it without a residue.
"""

from collections.abc import Iterator

MACROBLOCK = 16
PCM_MB = 25
FLAT_INTRA_MB = 3
NO_COEFFICIENTS = "1"
NO_COEFFICIENTS_NEXT_TO_PCM = "000011"


def parameter_sets(width: int, height: int) -> tuple[bytes, bytes]:
    """Sequence and picture parameter set (NAL units without start code) of a baseline stream."""
    across, down = macroblocks(width, height)
    crop_right, crop_bottom = (across * MACROBLOCK - width) // 2, (down * MACROBLOCK - height) // 2
    cropping = "0" if crop_right == crop_bottom == 0 else "1" + _ue(0) + _ue(crop_right) + _ue(0) + _ue(crop_bottom)
    level = 40 if across * down <= 8192 else 51
    sps = _ue(0) + _ue(0) + _ue(2) + _ue(1) + "0" + _ue(across - 1) + _ue(down - 1) + "11" + cropping + "0"
    pps = _ue(0) + _ue(0) + "00" + _ue(0) + _ue(0) + _ue(0) + "0" + "00" + _ue(0) * 3 + "100"
    return bytes([0x67, 66, 0xC0, level]) + _payload(sps), b"\x68" + _payload(pps)


def frames(width: int, height: int, colour: tuple[int, int, int], count: int) -> Iterator[bytes]:
    """`count` coded pictures (NAL units): a key frame of an RGB colour and its repetitions."""
    across, down = macroblocks(width, height)
    yield b"\x65" + _payload(_key_frame(across, down, _yuv(colour)))
    for number in range(1, count):
        header = _ue(0) + _ue(5) + _ue(0) + f"{number % 16:04b}" + "000" + _ue(0) + _ue(1)
        yield b"\x61" + _payload(header + _ue(across * down))


def macroblocks(width: int, height: int) -> tuple[int, int]:
    """How many macroblocks cover a picture, across and down."""
    return -(-width // MACROBLOCK), -(-height // MACROBLOCK)


def _key_frame(across: int, down: int, yuv: tuple[int, int, int]) -> str:
    bits = _ue(0) + _ue(7) + _ue(0) + "0000" + _ue(0) + "00" + _ue(0) + _ue(1)
    bits += _ue(PCM_MB)
    bits += "0" * ((8 + len(bits)) % 8 and 8 - len(bits) % 8)
    bits += f"{yuv[0]:08b}" * 256 + f"{yuv[1]:08b}" * 64 + f"{yuv[2]:08b}" * 64
    flat = _ue(FLAT_INTRA_MB) + _ue(0) + _ue(0)
    next_to_pcm = flat + NO_COEFFICIENTS_NEXT_TO_PCM
    first_row = next_to_pcm * min(across - 1, 1) + (flat + NO_COEFFICIENTS) * max(across - 2, 0)
    second_row = (next_to_pcm + (flat + NO_COEFFICIENTS) * (across - 1)) * min(down - 1, 1)
    return bits + first_row + second_row + (flat + NO_COEFFICIENTS) * across * max(down - 2, 0)


def _yuv(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    red, green, blue = colour
    luma = 16 + (66 * red + 129 * green + 25 * blue) // 256
    return luma, 128 + (112 * blue - 38 * red - 74 * green) // 256, 128 + (112 * red - 94 * green - 18 * blue) // 256


def _ue(value: int) -> str:
    code = f"{value + 1:b}"
    return "0" * (len(code) - 1) + code


def _payload(bits: str) -> bytes:
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    return _escaped(int(bits, 2).to_bytes(len(bits) // 8, "big"))


def _escaped(raw: bytes) -> bytes:
    out = bytearray()
    zeros = 0
    for byte in raw:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)
