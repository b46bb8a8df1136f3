/** A chart over time, as lines or stacked bars; a stretch that is drawn over becomes the range. */
import { useEffect, useRef } from 'preact/hooks'
import type Plot from 'uplot'
import { setParams } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { theme } from '../base/theme.ts'
import { zone } from '../base/time.ts'
import { tell } from '../parts/notices.tsx'

export interface Series {
  /** Visible as a whole: of values of events see `shownValue`. */
  readonly label: string
  /** One for each time. */
  readonly values: readonly (number | null)[]
  /** A level's name, in whose colour it is drawn; by its place when left out. */
  readonly color?: string
}

export type ChartKind = 'lines' | 'bars'

interface ChartProps {
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly kind?: ChartKind
  /** Bars lie on each other: for figures that add up. */
  readonly isStacked?: boolean
  /** How a figure is written; as it is when left out. */
  readonly format?: (value: number) => string
  /** Gets a stretch that was drawn over; the address's range when left out. */
  readonly onRange?: (from: string, to: string) => void
}

const HEIGHT_PX = 220
/** Below it labels stand closer: one alone tells no scale. */
const LOW_PX = 150
const COLORS = ['info', 'error', 'warn', 'fatal', 'debug'] as const
const FONT = '12px system-ui, sans-serif'
/** As everywhere on the page: 24 hours, the year first. */
const TIME_AXIS: Plot.Axis.Values = [
  [86_400 * 360, '{YYYY}', null, null, null, null, null, null, 1],
  [86_400 * 28, '{YYYY}-{MM}', null, null, null, null, null, null, 1],
  [86_400, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [0.001, ':{ss}.{fff}', '\n{HH}:{mm}', null, null, null, '\n{HH}:{mm}', null, 1],
]

export function TimeChart(props: ChartProps) {
  const ref = useRef<HTMLDivElement>(null)
  const { times, series, kind, isStacked } = props
  useEffect(() => {
    const element = ref.current!
    let plot: Plot | undefined
    let isGone = false
    const observer = new ResizeObserver(() => {
      plot?.setSize(sizeOf(element))
    })
    import('uplot').then(
      ({ default: Chart }) => {
        if (isGone) return
        plot = new Chart(optionsOf(props, sizeOf(element), Chart), dataOf(props), element)
        observer.observe(element)
      },
      () => tell('The chart could not be loaded', true),
    )
    return () => {
      isGone = true
      observer.disconnect()
      plot?.destroy()
    }
  }, [times, series, kind, isStacked, theme.value, zone.value])
  const labels = series.map(({ label }) => isolated(label)).join(', ')
  return <div ref={ref} class="chart" role="img" aria-label={`Over time: ${labels}`} />
}

interface Size {
  readonly width: number
  readonly height: number
}

/** As wide as its room; `--chart-px` says how high, where that is little. */
function sizeOf(element: HTMLElement): Size {
  const height = Number.parseFloat(getComputedStyle(element).getPropertyValue('--chart-px'))
  return { width: element.clientWidth, height: height || HEIGHT_PX }
}

function optionsOf(props: ChartProps, size: Size, Chart: typeof Plot): Plot.Options {
  const { series, kind, format = String } = props
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: color('text-quiet'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { stroke: color('line'), width: 1 },
    font: FONT,
  }
  return {
    ...size,
    axes: [
      { ...axis, values: TIME_AXIS, space: 80 },
      {
        ...axis,
        size: 64,
        space: size.height < LOW_PX ? 14 : 30,
        values: (_, values) => values.map((value) => format(value)),
      },
    ],
    ...(zone.value === 'utc' && {
      tzDate: (seconds) => Chart.tzDate(new Date(seconds * 1e3), 'UTC'),
    }),
    scales: kind === 'bars' ? barScales(props.times) : {},
    cursor: { drag: { x: true, y: false, setScale: false } },
    series: [
      { value: '{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}' },
      ...series.map(({ label, values, color: level }, index) => {
        const stroke = color(`level-${level ?? COLORS[index % COLORS.length]}`)
        return {
          // The chart's own legend has no element around it that would isolate it.
          label: isolated(label),
          stroke,
          width: 1.5,
          value: (_: Plot, __: number, ___: number, at: number | null) => {
            const value = at === null ? null : values[at]
            return value === null || value === undefined ? '–' : format(value)
          },
          ...(kind === 'bars'
            ? {
                fill: stroke,
                width: 0,
                points: { show: false },
                paths: Chart.paths.bars!({ size: [0.85, 60], align: 1 }),
              }
            : // Shape beside colour: each line has its own dashes.
              { dash: index === 0 ? [] : [4 * index, 3] }),
        }
      }),
    ],
    hooks: { setSelect: [(plot) => selectRange(plot, props.onRange)] },
  }
}

/** From 0 up; to the right there is room for the last bar, which begins at its time. */
function barScales(times: readonly number[]): Plot.Scales {
  const step = times.length > 1 ? times[1]! - times[0]! : 60
  return {
    x: { range: (_, min, max) => [min, max + step] },
    y: { range: (_, __, max) => [0, Math.max(1, max) * 1.05] },
  }
}

function selectRange(
  plot: Plot,
  onRange: ChartProps['onRange'] = (from, to) => setParams({ from, to }),
): void {
  const { left, width } = plot.select
  if (width < 3) return
  const at = (x: number) => new Date(plot.posToVal(x, 'x') * 1_000).toISOString()
  onRange(at(left), at(left + width))
}

/** Stacked, each series begins where those behind it end, so the first one is drawn highest. */
function dataOf({ times, series, kind, isStacked }: ChartProps): Plot.AlignedData {
  const rows = series.map(({ values }) => [...values])
  if (kind === 'bars' && isStacked === true) {
    for (let row = rows.length - 2; row >= 0; row--) {
      for (let at = 0; at < times.length; at++) {
        rows[row]![at] = (rows[row]![at] ?? 0) + (rows[row + 1]![at] ?? 0)
      }
    }
  }
  return [[...times], ...rows]
}
