import { useEffect, useRef } from 'preact/hooks'
import Plot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { setParams } from '../base/route.ts'
import { theme } from '../base/theme.ts'
import { zone } from '../base/time.ts'

export interface Series {
  readonly label: string
  /** One for each time. */
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

const HEIGHT = 220
const COLORS = ['info', 'error', 'warn', 'fatal', 'debug'] as const

/** Lines over time; a stretch that is drawn over becomes the range. */
export function TimeChart({ times, series }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = ref.current!
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
    const axis = { stroke: color('text-quiet'), grid: { stroke: color('line') } }
    const plot = new Plot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        axes: [axis, axis],
        ...(zone.value === 'utc' && {
          tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1e3), 'UTC'),
        }),
        cursor: { drag: { x: true, y: false, setScale: false } },
        series: [
          {},
          ...series.map(({ label }, index) => ({
            label,
            stroke: color(`level-${COLORS[index % COLORS.length]}`),
            width: 1.5,
            // Shape beside colour: each line has its own dashes.
            dash: index === 0 ? [] : [4 * index, 3],
          })),
        ],
        hooks: {
          setSelect: [
            (self) => {
              const { left, width } = self.select
              if (width < 3) return
              const at = (x: number) => new Date(self.posToVal(x, 'x') * 1_000).toISOString()
              setParams({ from: at(left), to: at(left + width) })
            },
          ],
        },
      },
      [[...times], ...series.map(({ values }) => [...values])],
      element,
    )
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height: HEIGHT })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, theme.value, zone.value])
  return <div ref={ref} class="chart" role="img" aria-label={labelOf(series)} />
}

function labelOf(series: readonly Series[]): string {
  return `Over time: ${series.map(({ label }) => label).join(', ')}`
}
