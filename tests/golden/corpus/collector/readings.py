"""Readings as they come from the gateway: parsing, plausibility, and removal of outliers."""

from dataclasses import dataclass
from statistics import median

MAX_STEP_KG = 8.0


@dataclass(frozen=True)
class Reading:
    """One measurement of one hive."""

    hive: str
    at: int
    weight_kg: float
    celsius: float
    humidity: float


def parse_packet(packet: bytes) -> Reading:
    """Unpack the 24 bytes of a radio packet; raises ValueError when the checksum is wrong."""
    if len(packet) != 24 or sum(packet[:-1]) % 256 != packet[-1]:
        raise ValueError("damaged packet")
    hive = packet[:8].decode("ascii").strip()
    at = int.from_bytes(packet[8:12], "big")
    grams, tenths, humidity = (int.from_bytes(packet[i : i + 4], "big", signed=True) for i in (12, 16, 19))
    return Reading(hive, at, grams / 1000, tenths / 10, humidity / 10)


def drop_outliers(readings: list[Reading], window: int = 5) -> list[Reading]:
    """Remove spikes: readings further than MAX_STEP_KG from the median of their neighbours."""
    kept = []
    for place, reading in enumerate(readings):
        around = readings[max(0, place - window) : place + window + 1]
        if abs(reading.weight_kg - median(it.weight_kg for it in around)) <= MAX_STEP_KG:
            kept.append(reading)
    return kept
