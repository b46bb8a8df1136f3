/**
 * Events over time, stacked by level, the worst at the bottom. Dragging selects a stretch as the
 * range; a click on a bar selects its bucket. By keys: the arrows go from bar to bar, with Shift
 * they select, Enter applies the selection; `h` goes to where the most errors are.
 */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { formatCount, formatShortCount } from '../base/format.ts'
import { setParams } from '../base/route.ts'
import { formatTime, ticksOf, zone } from '../base/time.ts'
import { type Bucket, LEVEL_KEYS, type LevelKey, totalOf } from './counts.ts'
import { worstOf } from './worst.ts'

const WIDTH = 1_000
const HEIGHT = 84
const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => 0,
  End: (_, count) => count - 1,
}

interface HistogramProps {
  readonly buckets: readonly Bucket[]
  readonly bucketMs: number
  /** Of what was asked before. */
  readonly isStale: boolean
}

export function Histogram({ buckets, bucketMs, isStale }: HistogramProps) {
  const svg = useRef<SVGSVGElement>(null)
  const drawn = useSignal<{ from: number; to: number } | undefined>(undefined)
  const hovered = useSignal<number | undefined>(undefined)
  const highest = Math.max(0, ...buckets.map(totalOf))
  const width = WIDTH / Math.max(1, buckets.length)
  const indexAt = (event: PointerEvent) => {
    const { left, width: shown } = svg.current!.getBoundingClientRect()
    const share = (event.clientX - left) / Math.max(1, shown)
    return Math.max(0, Math.min(buckets.length - 1, Math.floor(share * buckets.length)))
  }
  const finish = (stretch = drawn.value) => {
    if (stretch === undefined || buckets.length === 0) return
    const { from, to } = stretch
    drawn.value = undefined
    hovered.value = undefined
    const [low, high] = from <= to ? [from, to] : [to, from]
    setParams({
      from: new Date(buckets[low]!.startMs).toISOString(),
      to: new Date(buckets[high]!.startMs + bucketMs).toISOString(),
    })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const at = Math.min(hovered.value ?? buckets.length, buckets.length - 1)
    if (event.key === 'Enter') finish(drawn.value ?? { from: at, to: at })
    else if (event.key === 'Escape' && drawn.value) drawn.value = undefined
    else if (event.key in STEPS && buckets.length > 0) {
      const to = hovered.value === undefined ? at : STEPS[event.key]!(at, buckets.length)
      hovered.value = Math.max(0, Math.min(buckets.length - 1, to))
      const from = drawn.value?.from ?? at
      drawn.value = event.shiftKey ? { from, to: hovered.value } : undefined
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const told = tip(buckets, bucketMs, drawn.value, hovered.value)
  void zone.value
  return (
    <figure class={isStale ? 'histogram is-stale' : 'histogram'}>
      <div
        class="bars"
        id="histogram"
        role="slider"
        tabIndex={0}
        aria-label="Events by time"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, buckets.length - 1)}
        aria-valuenow={hovered.value ?? 0}
        aria-valuetext={told ?? summaryOf(highest)}
        title="Drag over a stretch to look at it alone; h goes to where the most errors are"
        onKeyDown={onKeyDown}
        onClick={(event) => {
          // By its key: what the mouse does is over before there is a click.
          if (event.detail !== 0) return
          finish(worstOf(buckets))
        }}
        onBlur={() => {
          hovered.value = undefined
          drawn.value = undefined
        }}
        onPointerDown={(event) => {
          if (event.button !== 0 || buckets.length === 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          drawn.value = { from: indexAt(event), to: indexAt(event) }
        }}
        onPointerMove={(event) => {
          const index = indexAt(event)
          hovered.value = index
          if (drawn.value) drawn.value = { ...drawn.value, to: index }
        }}
        onPointerUp={() => finish()}
        onPointerLeave={() => {
          hovered.value = undefined
        }}
        onPointerCancel={() => {
          drawn.value = undefined
        }}
      >
        <svg
          ref={svg}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          {buckets.map((bucket, index) => (
            <Bar
              key={bucket.startMs}
              bucket={bucket}
              x={index * width}
              width={width}
              highest={highest}
            />
          ))}
          {hovered.value !== undefined && !drawn.value && buckets.length > 0 && (
            <rect class="pointed" x={hovered.value * width} width={width} y={0} height={HEIGHT} />
          )}
          {drawn.value && (
            <rect
              class="drawn"
              x={Math.min(drawn.value.from, drawn.value.to) * width}
              width={(Math.abs(drawn.value.to - drawn.value.from) + 1) * width}
              y={0}
              height={HEIGHT}
            />
          )}
        </svg>
      </div>
      <div class="now mono" aria-hidden="true">
        {told ?? (highest > 0 && `most: ${formatShortCount(highest)}`)}
      </div>
      <Ticks buckets={buckets} bucketMs={bucketMs} />
    </figure>
  )
}

function summaryOf(highest: number): string {
  return highest > 0 ? `at most ${formatCount(highest)} in a bar` : 'no events'
}

/** Times below the bars: at round ones, as many as there is room for. */
function Ticks({ buckets, bucketMs }: Pick<HistogramProps, 'buckets' | 'bucketMs'>) {
  const [first] = buckets
  const ticks =
    first === undefined ? [] : ticksOf(first.startMs, first.startMs + buckets.length * bucketMs)
  return (
    <div class="ticks quiet" aria-hidden="true">
      {ticks.map(({ ms, share, text }) => (
        <span key={ms} style={{ '--share': `${100 * share}%` }}>
          {text}
        </span>
      ))}
    </div>
  )
}

interface BarProps {
  readonly bucket: Bucket
  readonly x: number
  readonly width: number
  readonly highest: number
}

function Bar({ bucket, x, width, highest }: BarProps) {
  let y = HEIGHT
  const gap = Math.min(1, width / 5)
  return (
    <>
      {LEVEL_KEYS.map((level) => {
        const count = bucket.counts[level] ?? 0
        if (count === 0) return null
        // What is there is seen, however small; what is bad, twice.
        const least = level === 'fatal' || level === 'error' || level === 'warn' ? 3 : 1
        const height = Math.max(least, (count / highest) * (HEIGHT - 2))
        y -= height
        return (
          <rect
            key={level}
            class={`bar is-${level}`}
            x={x}
            y={Math.max(0, y)}
            width={width - gap}
            height={height}
          />
        )
      })}
    </>
  )
}

interface Stretch {
  readonly from: number
  readonly to: number
}

/** What is in the stretch that is drawn, or in the bar that is pointed at. */
function tip(
  buckets: readonly Bucket[],
  bucketMs: number,
  drawn: Stretch | undefined,
  pointed: number | undefined,
): string | undefined {
  const [a, b] = drawn ? [drawn.from, drawn.to] : [pointed ?? -1, pointed ?? -1]
  const bars = buckets.slice(Math.max(0, Math.min(a, b)), Math.max(a, b) + 1)
  const [first] = bars
  if (first === undefined) return undefined
  const sum = (level: LevelKey) => bars.reduce((all, bar) => all + (bar.counts[level] ?? 0), 0)
  const parts = LEVEL_KEYS.map((level) => [level, sum(level)] as const)
    .filter(([, count]) => count > 0)
    .map(([level, count]) => `${level} ${formatCount(count)}`)
  const total = bars.reduce((all, bar) => all + totalOf(bar), 0)
  const end =
    bars.length > 1 ? ` – ${formatTime(bars.at(-1)!.startMs + bucketMs, 0).slice(11)}` : ''
  return `${formatTime(first.startMs, 0)}${end}  ${formatCount(total)}  ${parts.join(', ')}`
}
