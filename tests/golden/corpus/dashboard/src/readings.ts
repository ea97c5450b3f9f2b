export interface Reading {
  at: number;
  weightKg: number;
  celsius: number;
}

/** One mean per hour, in the order of time. */
export function hourlyMeans(readings: Reading[]): Reading[] {
  const byHour = new Map<number, Reading[]>();
  for (const reading of readings) {
    const hour = Math.floor(reading.at / 3600);
    byHour.set(hour, [...(byHour.get(hour) ?? []), reading]);
  }
  const mean = (all: number[]) => all.reduce((sum, it) => sum + it, 0) / all.length;
  return [...byHour.entries()].map(([hour, all]) => ({
    at: hour * 3600,
    weightKg: mean(all.map((it) => it.weightKg)),
    celsius: mean(all.map((it) => it.celsius)),
  }));
}
