import { Reading, hourlyMeans } from "./readings";

export interface Axis {
  label: string;
  min: number;
  max: number;
}

/** The axis that holds all values, with a tenth of room above and below. */
export function fitAxis(label: string, values: number[]): Axis {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low) / 10 || 1;
  return { label, min: low - room, max: high + room };
}

/** Points of the weight curve in pixels; long ranges are drawn from hourly means. */
export function weightCurve(readings: Reading[], width: number, height: number): [number, number][] {
  const drawn = readings.length > width ? hourlyMeans(readings) : readings;
  const axis = fitAxis("kg", drawn.map((it) => it.weightKg));
  const first = drawn[0].at;
  const last = drawn[drawn.length - 1].at;
  return drawn.map((it) => [
    (width * (it.at - first)) / (last - first || 1),
    height - (height * (it.weightKg - axis.min)) / (axis.max - axis.min),
  ]);
}
