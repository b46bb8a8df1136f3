/** Figures over time by what makes them, as bars on each other: the largest, and all others. */

/** So many have a colour of their own. */
const TOLD_MAX = 4

export interface Steps {
  readonly from: string
  readonly to: string
  readonly bucket_ms: number
}

export interface Figure {
  readonly time: string
  /** What makes it, visible as a whole. */
  readonly label: string
  readonly value: number
}

/** As a chart takes it. */
export interface Stacked {
  readonly label: string
  readonly values: readonly number[]
}

/** Seconds since 1970 of each step. */
export function timesOf({ from, to, bucket_ms: stepMs }: Steps): readonly number[] {
  const startMs = Date.parse(from)
  const count = Math.max(1, Math.round((Date.parse(to) - startMs) / stepMs))
  return Array.from({ length: count }, (_, at) => (startMs + at * stepMs) / 1_000)
}

/** A series for each of the largest, in order of size. */
export function stackedOf(
  times: readonly number[],
  figures: readonly Figure[],
): readonly Stacked[] {
  const places = new Map(times.map((seconds, at) => [seconds, at]))
  const totals = new Map<string, number>()
  for (const { label, value } of figures) totals.set(label, (totals.get(label) ?? 0) + value)
  const bySize = [...totals].sort(([, a], [, b]) => b - a).map(([label]) => label)
  const isWhole = bySize.length <= TOLD_MAX + 1
  const told = bySize.slice(0, isWhole ? TOLD_MAX + 1 : TOLD_MAX)
  const labels = isWhole ? told : [...told, `${bySize.length - TOLD_MAX} others`]
  const lines = new Map(labels.map((label) => [label, times.map(() => 0)]))
  for (const { time, label, value } of figures) {
    const line = lines.get(told.includes(label) ? label : labels.at(-1)!)!
    const at = places.get(Date.parse(time) / 1_000)
    if (at !== undefined) line[at]! += value
  }
  return [...lines].map(([label, values]) => ({ label, values }))
}

/** How a step is called: `15 min`. */
export function stepText(ms: number): string {
  if (ms % 86_400_000 === 0) return `${ms / 86_400_000} d`
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 60_000} min`
}
