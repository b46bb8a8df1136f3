/** What runs, waits and is refused in the lanes of reads and management. */
import { Counter, Gauge, type Registry } from 'prom-client'

const LANES = ['queries', 'lists', 'reviews', 'management'] as const
const REASONS = ['full', 'late'] as const

interface LaneState {
  readonly running: number
  readonly waiting: number
  readonly refused: Readonly<Record<(typeof REASONS)[number], number>>
}
type LaneStates = Readonly<Record<(typeof LANES)[number], LaneState>>

const IDLE: LaneState = { running: 0, waiting: 0, refused: { full: 0, late: 0 } }

/** Returns what tells it the lanes to look at; until then they are all idle. */
export function laneMetrics(registry: Registry): (lanes: LaneStates) => void {
  let states: LaneStates = { queries: IDLE, lists: IDLE, reviews: IDLE, management: IDLE }
  const registers = [registry]
  new Gauge({
    name: 'ingest_lane_running',
    help: 'Requests to read and to manage that run',
    labelNames: ['lane'],
    registers,
    collect() {
      for (const lane of LANES) this.set({ lane }, states[lane].running)
    },
  })
  new Gauge({
    name: 'ingest_lane_waiting',
    help: 'Requests that wait for their turn in a lane',
    labelNames: ['lane'],
    registers,
    collect() {
      for (const lane of LANES) this.set({ lane }, states[lane].waiting)
    },
  })
  new Counter({
    name: 'ingest_lane_refused_total',
    help: 'Requests refused because too many waited or they had waited for too long',
    labelNames: ['reason', 'lane'],
    registers,
    collect() {
      this.reset()
      for (const lane of LANES) {
        for (const reason of REASONS) this.inc({ reason, lane }, states[lane].refused[reason])
      }
    },
  })
  return (lanes) => {
    states = lanes
  }
}
