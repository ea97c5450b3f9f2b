"""Rules over the stream of readings."""

from collector.readings import Reading

SWARM_LOSS_KG = 1.2
SWARM_WINDOW_S = 15 * 60


def swarm_detected(readings: list[Reading]) -> bool:
    """Whether a swarm has left: a sudden loss of weight within the window."""
    for place, later in enumerate(readings):
        for earlier in readings[:place]:
            if later.at - earlier.at <= SWARM_WINDOW_S and earlier.weight_kg - later.weight_kg > SWARM_LOSS_KG:
                return True
    return False


def in_quiet_hours(hour: int, quiet_from: int, quiet_until: int) -> bool:
    """Quiet hours may pass midnight."""
    if quiet_from <= quiet_until:
        return quiet_from <= hour < quiet_until
    return hour >= quiet_from or hour < quiet_until
