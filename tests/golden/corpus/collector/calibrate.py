"""Turns voltages of load cells into kilograms."""

from dataclasses import dataclass


class SpanTooSmall(Exception):
    """Both calibration points gave nearly the same voltage."""


@dataclass(frozen=True)
class Calibration:
    gain: float
    offset: float
    slope_per_degree: float = 0.0

    def kilograms(self, voltage: float, celsius: float = 20.0) -> float:
        """The weight for a voltage, corrected for temperature."""
        return self.gain * voltage + self.offset - self.slope_per_degree * (celsius - 20.0)


def two_point(empty_voltage: float, loaded_voltage: float, mass_kg: float) -> Calibration:
    """Gain and offset from the empty platform and one known mass."""
    span = loaded_voltage - empty_voltage
    if abs(span) < 1e-4:
        raise SpanTooSmall(f"span too small: {span:g} V")
    gain = mass_kg / span
    return Calibration(gain, -gain * empty_voltage)


def fit_temperature_slope(points: list[tuple[float, float]]) -> float:
    """Least squares through (celsius, kilograms) of a constant load."""
    mean_t = sum(t for t, _ in points) / len(points)
    mean_w = sum(w for _, w in points) / len(points)
    spread = sum((t - mean_t) ** 2 for t, _ in points)
    return sum((t - mean_t) * (w - mean_w) for t, w in points) / spread if spread else 0.0
