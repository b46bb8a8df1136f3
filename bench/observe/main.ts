/**
 * What a client costs that sends nothing but new keys and new shapes: resident memory before,
 * while and after it, and how long a stream beside it waits for its acknowledgements.
 *
 *   node dist/bench/observe/main.js [--keys 1000000] [--shapes 100000] [--rounds 3]
 *     [--url URL --token TOKEN --pid PID]
 *
 * Each flood comes several times, with other keys and shapes: what is kept of them would add up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { tryReadMemory } from '../e2e/procfs.ts'
import { type BenchStream, createStream, type ServiceAddress } from '../e2e/rest.ts'
import { startService } from '../e2e/service.ts'
import { formatTable } from '../table.ts'
import {
  distinctKeys,
  distinctShapes,
  type HostileLoad,
  NEIGHBOUR_EVENT,
  ordinary,
} from './hostile-events.ts'

const BATCH_EVENTS = 1_000
const CONNECTIONS = 4
const NEIGHBOUR_PAUSE_MS = 20
const SETTLE_MS = 5_000
/** The service gives up buffers that it does not use, and Node collects them. */
const QUIET_MS = 45_000
const MIB = 1024 * 1024

interface Target extends ServiceAddress {
  readonly pid: number
}

async function send(target: Target, stream: BenchStream, body: string): Promise<void> {
  for (;;) {
    const reply = await fetch(`${target.url}/v1/ingest`, {
      method: 'POST',
      headers: { 'X-API-Key': stream.key, 'Content-Type': 'application/x-ndjson' },
      body,
    })
    await reply.arrayBuffer()
    if (reply.status === 200) return
    if (reply.status !== 429 && reply.status !== 503) throw new Error(`status ${reply.status}`)
    await sleep(1_000)
  }
}

/** The service's own process, without the stores. */
function rssMib({ pid }: Target): number {
  return Math.round((tryReadMemory(pid)?.rssBytes ?? Number.NaN) / MIB)
}

interface Phase {
  readonly name: string
  readonly seconds: number
  readonly rssStart: number
  readonly rssPeak: number
  readonly rssEnd: number
  /** Acknowledgements of the neighbour, milliseconds, in order. */
  readonly waits: readonly number[]
}

/** Runs a load, or with `undefined` only the neighbour for a while. */
async function runPhase(
  target: Target,
  streams: { readonly hostile: BenchStream; readonly neighbour: BenchStream },
  load: HostileLoad | undefined,
  quietMs = SETTLE_MS,
): Promise<Phase> {
  const rssStart = rssMib(target)
  const startedAt = performance.now()
  let rssPeak = rssStart
  let next = 0
  let isOver = false
  const waits: number[] = []
  const neighbour = async () => {
    while (!isOver) {
      const sentAt = performance.now()
      await send(target, streams.neighbour, NEIGHBOUR_EVENT)
      waits.push(performance.now() - sentAt)
      rssPeak = Math.max(rssPeak, rssMib(target))
      await sleep(NEIGHBOUR_PAUSE_MS)
    }
  }
  const writer = async (hostile: HostileLoad) => {
    while (next < hostile.events) {
      const first = next
      next += BATCH_EVENTS
      const count = Math.min(BATCH_EVENTS, hostile.events - first)
      const lines = Array.from({ length: count }, (_, i) => hostile.event(first + i))
      await send(target, streams.hostile, lines.join('\n'))
    }
  }
  const beside = neighbour()
  if (load === undefined) await sleep(quietMs)
  else await Promise.all(Array.from({ length: CONNECTIONS }, () => writer(load)))
  const seconds = (performance.now() - startedAt) / 1_000
  isOver = true
  await beside
  await sleep(load === undefined ? 0 : SETTLE_MS)
  waits.sort((a, b) => a - b)
  const name = load?.name ?? 'neighbour alone'
  return { name, seconds, rssStart, rssPeak, rssEnd: rssMib(target), waits }
}

function toRow({ name, seconds, rssStart, rssPeak, rssEnd, waits }: Phase): string[] {
  const at = (share: number) => (waits[Math.floor(waits.length * share)] ?? Number.NaN).toFixed(1)
  const rss = [rssStart, rssPeak, rssEnd].map(String)
  return [name, seconds.toFixed(1), ...rss, at(0.5), at(0.99)]
}

const COLUMNS = ['load', 's', 'RSS MiB before', 'peak', 'after', 'neighbour p50 ms', 'p99 ms']

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      keys: { type: 'string', default: '1000000' },
      shapes: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '3' },
      url: { type: 'string' },
      token: { type: 'string' },
      pid: { type: 'string' },
    },
  })
  const { url, token, pid } = values
  const isGiven = url !== undefined && token !== undefined && pid !== undefined
  const started = isGiven ? undefined : await startService({ nodeFlags: [], isDataKept: false })
  const target = started ?? { url: url ?? '', token: token ?? '', pid: Number(pid) }
  try {
    const hostile = await createStream(target, `hostile-${Date.now()}`, {})
    const neighbour = await createStream(target, `neighbour-${Date.now()}`, {})
    const streams = { hostile, neighbour }
    const phases: Phase[] = [await runPhase(target, streams, undefined)]
    const [keys, shapes, rounds] = [values.keys, values.shapes, values.rounds].map(Number)
    if (!keys || !shapes || !rounds) throw new Error('--keys, --shapes and --rounds are numbers')
    const loads = [
      ordinary(keys),
      ordinary(keys),
      ...Array.from({ length: rounds }, (_, round) => distinctKeys(keys, round)),
      ...Array.from({ length: rounds }, (_, round) => distinctShapes(shapes, round)),
      ordinary(keys),
    ]
    for (const load of loads) phases.push(await runPhase(target, streams, load))
    phases.push(await runPhase(target, streams, undefined, QUIET_MS))
    console.log(formatTable(COLUMNS, phases.map(toRow)))
    const headers = { Authorization: `Bearer ${target.token}` }
    const reply = await fetch(`${target.url}/v1/streams/${hostile.id}/usage`, { headers })
    console.log(await reply.text())
  } finally {
    await started?.stop()
  }
}

await main()
