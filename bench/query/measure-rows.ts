/** Times the rows: each a few times through the service and by the engine alone, in turns. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { BenchStream } from '../e2e/rest.ts'
import type { EngineClient } from './engine-client.ts'
import type { RestClient } from './rest-client.ts'
import { type QueryRow, type Scene, traceSql } from './rows.ts'

/** How long the first page after ingest may take, milliseconds: must, and goal. */
export const FIRST = { name: 'first', mustMs: 40, goalMs: 20 } as const

export interface Timing {
  readonly medianMs: number
  readonly bestMs: number
}

export interface RowResult {
  readonly name: string
  readonly mustMs: number
  readonly goalMs: number
  readonly rest: Timing
  /** Undefined where the service is asked alone. */
  readonly engine: Timing | undefined
  /** Whether both gave the same answer; also where there is no engine's. */
  readonly isEqual: boolean
}

export interface Subject {
  readonly rest: RestClient
  readonly engine: EngineClient
  readonly stream: BenchStream
  readonly scene: Scene
}

export interface MeasureOptions {
  readonly rows: readonly QueryRow[]
  readonly runs: number
  readonly hasFirst: boolean
  /** The service alone, so that what else is measured sees its work and no other. */
  readonly isServiceAlone?: boolean
}

const WARM_UPS = 2
/** Between pages after ingest, so that one's work is not the next one's. */
const FIRST_PAUSE_MS = 100

export async function measureRows(
  subject: Subject,
  { rows, runs, hasFirst, isServiceAlone = false }: MeasureOptions,
): Promise<RowResult[]> {
  const results: RowResult[] = []
  for (const row of rows) results.push(await measureRow(subject, row, { runs, isServiceAlone }))
  if (hasFirst) results.push(await measureFirst(subject, { runs, isServiceAlone }))
  return results
}

async function measureRow(
  subject: Subject,
  row: QueryRow,
  { runs, isServiceAlone }: { readonly runs: number; readonly isServiceAlone: boolean },
): Promise<RowResult> {
  const { rest, engine, scene } = subject
  const path = row.isAtRoot ? row.path : `/v1/streams/${subject.stream.id}${row.path}`
  const asked = row.body(scene)
  const body = typeof asked === 'string' ? asked : JSON.stringify(asked)
  const sql = row.sql(scene)
  const times: { readonly rest: number[]; readonly engine: number[] } = { rest: [], engine: [] }
  let isEqual = true
  for (let run = -WARM_UPS; run < runs; run++) {
    const reply = await rest.post(path, body)
    if (run >= 0) times.rest.push(reply.ms)
    if (isServiceAlone) continue
    const own = await engine.ask(sql)
    isEqual &&= isDeepStrictEqual(row.told(reply.answer as object), row.toldByEngine(own.rows))
    if (run >= 0) times.engine.push(own.engineMs)
  }
  const { name, mustMs, goalMs } = row
  const of = { name, mustMs, goalMs }
  const engineTiming = isServiceAlone ? undefined : timing(times.engine)
  return { ...of, rest: timing(times.rest), engine: engineTiming, isEqual }
}

/** An event is sent; once it is acknowledged, it is searched for. */
async function measureFirst(
  { rest, engine, stream, scene }: Subject,
  { runs, isServiceAlone }: { readonly runs: number; readonly isServiceAlone: boolean },
): Promise<RowResult> {
  const times: { readonly rest: number[]; readonly engine: number[] } = { rest: [], engine: [] }
  let isEqual = true
  for (let run = -WARM_UPS; run < runs; run++) {
    await sleep(FIRST_PAUSE_MS)
    const id = randomBytes(16).toString('hex')
    const event = JSON.stringify({ level: 'info', message: 'first page', trace: { trace_id: id } })
    const headers = { 'x-api-key': stream.key, 'content-type': 'application/x-ndjson' }
    await rest.post('/v1/ingest', `${event}\n`, headers)
    const query = `trace.trace_id:${id}`
    const { answer, ms } = await rest.post(`/v1/streams/${stream.id}/search`, { query })
    isEqual &&= (answer as { readonly events: readonly unknown[] }).events.length === 1
    if (run >= 0) times.rest.push(ms)
    if (isServiceAlone) continue
    const own = await engine.ask(traceSql({ ...scene, toMs: Date.now() + 1 }, id))
    if (run >= 0) times.engine.push(own.engineMs)
  }
  const engineTiming = isServiceAlone ? undefined : timing(times.engine)
  return { ...FIRST, rest: timing(times.rest), engine: engineTiming, isEqual }
}

export function timing(values: readonly number[]): Timing {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const medianMs =
    ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
  return { medianMs, bestMs: sorted[0] ?? Number.NaN }
}

/** Within its time, or within what the engine itself takes and a little. */
export function isMustMet({ rest, engine, mustMs }: RowResult): boolean {
  if (rest.medianMs <= mustMs) return true
  return engine !== undefined && rest.medianMs <= engine.medianMs * 1.5 + 5
}
