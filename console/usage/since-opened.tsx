/**
 * What the totals grew by while the page was open: by seconds, where the service keeps what was
 * sent by hours.
 */
import { useMemo, useRef } from 'preact/hooks'
import { formatBytes, formatCount } from '../base/format.ts'
import type { Refusal, Usage } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import { TimeChart } from '../explore/time-chart.tsx'

/** Two hours at one in 5 s; then the oldest go. */
const SAMPLES_MAX = 1_440

interface Sample {
  readonly ms: number
  readonly usage: Usage
}

export function SinceOpened({ usage }: { usage: Usage }) {
  const samples = useSamples(usage)
  // A chart is made anew with other figures alone: the screen is drawn more often than they come.
  const { times, series } = useMemo(() => drawn(samples), [samples])
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined || samples.length < 3) {
    return (
      <>
        <h2>While this page is open</h2>
        <p class="quiet">Looking for some seconds…</p>
      </>
    )
  }
  const reasons = grown(first.usage, last.usage)
  return (
    <>
      <h2>While this page is open</h2>
      <p class="hint">Since {formatTime(first.ms, 0)}: by seconds, which nothing keeps.</p>
      <p>
        <strong>{formatCount(Math.max(0, last.usage.events - first.usage.events))}</strong> events,{' '}
        <strong>{formatBytes(Math.max(0, last.usage.raw_bytes - first.usage.raw_bytes))}</strong> as
        sent
        {reasons.length === 0 && ', nothing refused or rejected'}
        {reasons.map(({ reason, count }) => (
          <span key={reason} class="warn">
            , ▲ {formatCount(count)} {reason}
          </span>
        ))}
      </p>
      <TimeChart times={times} series={series} format={formatBytes} onRange={() => undefined} />
    </>
  )
}

function drawn(samples: readonly Sample[]) {
  const values = samples.slice(1).map((sample, at) => {
    const before = samples[at]!
    const seconds = (sample.ms - before.ms) / 1_000
    return Math.max(0, sample.usage.raw_bytes - before.usage.raw_bytes) / Math.max(1, seconds)
  })
  const times = samples.slice(1).map(({ ms }) => ms / 1_000)
  return { times, series: [{ label: 'bytes a second, as sent', values }] }
}

function useSamples(usage: Usage): readonly Sample[] {
  const samples = useRef<readonly Sample[]>([])
  if (samples.current.at(-1)?.usage !== usage) {
    samples.current = [...samples.current.slice(1 - SAMPLES_MAX), { ms: Date.now(), usage }]
  }
  return samples.current
}

/** Refusals and rejects that came between the two, by reason. */
function grown(before: Usage, after: Usage): readonly { reason: string; count: number }[] {
  const kinds: readonly (readonly [what: string, of: (usage: Usage) => readonly Refusal[]])[] = [
    ['requests refused', (usage) => usage.refusals],
    ['events rejected', (usage) => usage.rejected_events],
  ]
  return kinds.flatMap(([what, of]) =>
    of(after).flatMap(({ reason, count }) => {
      const old = of(before).find((one) => one.reason === reason)?.count ?? 0
      const more = count - old
      return more > 0 ? [{ reason: `${what}: ${reason.replaceAll('_', ' ')}`, count: more }] : []
    }),
  )
}
