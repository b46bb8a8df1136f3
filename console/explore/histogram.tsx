/**
 * How many events by time, stacked by level, the worst at the bottom. A stretch that is drawn over
 * becomes the range; a click on a bar takes its bucket.
 */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { formatCount, formatShortCount } from '../base/format.ts'
import { setParams } from '../base/route.ts'
import { formatTime, zone } from '../base/time.ts'
import { type Bucket, LEVEL_KEYS, totalOf } from './counts.ts'

const WIDTH = 1_000
const HEIGHT = 84

interface HistogramProps {
  readonly buckets: readonly Bucket[]
  readonly bucketMs: number
}

export function Histogram({ buckets, bucketMs }: HistogramProps) {
  const svg = useRef<SVGSVGElement>(null)
  const drawn = useSignal<{ from: number; to: number } | undefined>(undefined)
  const hovered = useSignal<number | undefined>(undefined)
  const highest = Math.max(1, ...buckets.map(totalOf))
  const width = WIDTH / Math.max(1, buckets.length)
  const indexAt = (event: PointerEvent) => {
    const { left, width: shown } = svg.current!.getBoundingClientRect()
    const share = (event.clientX - left) / Math.max(1, shown)
    return Math.max(0, Math.min(buckets.length - 1, Math.floor(share * buckets.length)))
  }
  const finish = () => {
    if (drawn.value === undefined) return
    const { from, to } = drawn.value
    drawn.value = undefined
    const [low, high] = from <= to ? [from, to] : [to, from]
    setParams({
      from: new Date(buckets[low]!.startMs).toISOString(),
      to: new Date(buckets[high]!.startMs + bucketMs).toISOString(),
    })
  }
  const pointed = hovered.value === undefined ? undefined : buckets[hovered.value]
  void zone.value
  return (
    <figure class="histogram">
      <svg
        ref={svg}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Events by time: ${formatCount(buckets.reduce((sum, bucket) => sum + totalOf(bucket), 0))} in all, at most ${formatCount(highest)} in a bar`}
        onPointerDown={(event) => {
          svg.current!.setPointerCapture(event.pointerId)
          drawn.value = { from: indexAt(event), to: indexAt(event) }
        }}
        onPointerMove={(event) => {
          const index = indexAt(event)
          hovered.value = index
          if (drawn.value) drawn.value = { ...drawn.value, to: index }
        }}
        onPointerUp={finish}
        onPointerLeave={() => {
          hovered.value = undefined
        }}
        onPointerCancel={() => {
          drawn.value = undefined
        }}
      >
        <title>Drag over a stretch to look at it alone</title>
        {buckets.map((bucket, index) => (
          <Bar
            key={bucket.startMs}
            bucket={bucket}
            x={index * width}
            width={width}
            highest={highest}
          />
        ))}
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
      <figcaption class="quiet">
        <span>{buckets[0] && formatTime(buckets[0].startMs, 0)}</span>
        <span class="mono">{pointed ? tip(pointed) : `most: ${formatShortCount(highest)}`}</span>
        <span>{buckets.length > 0 && formatTime(buckets.at(-1)!.startMs + bucketMs, 0)}</span>
      </figcaption>
    </figure>
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
        // What is there is seen, however small.
        const height = Math.max(1, (count / highest) * (HEIGHT - 2))
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

function tip(bucket: Bucket): string {
  const parts = LEVEL_KEYS.filter((level) => bucket.counts[level]).map(
    (level) => `${level} ${formatCount(bucket.counts[level]!)}`,
  )
  return `${formatTime(bucket.startMs, 0)}  ${formatCount(totalOf(bucket))}  ${parts.join(', ')}`
}
