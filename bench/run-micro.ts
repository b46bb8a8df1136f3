/** Runs micro benches and turns their medians into figures. The command line is `main.ts`. */
import { Bench } from 'tinybench'
import { type BenchBatch, BenchSkipped, createBatch, type MicroBench } from './bench.ts'
import { CORPUS_KINDS, type CorpusKind } from './corpus.ts'
import { MICRO_BENCHES } from './registry.ts'

/** The median of this bench is the unit of all others. */
const BASELINE = 'decode/json-parse'

export interface MicroResult {
  readonly name: string
  readonly title: string
  readonly microsPerEvent: number
  readonly megabytesPerSecond: number
  readonly timesJsonParse: number
}

export interface MicroSkip {
  readonly name: string
  readonly skipped: string
}

export interface MicroOptions {
  readonly filter?: string | undefined
  readonly corpus?: string | undefined
  readonly events: number
  readonly timeMs: number
}

/** Runs what the filter selects, and always the baseline. */
export async function runMicroBenches(options: MicroOptions): Promise<(MicroResult | MicroSkip)[]> {
  const selected = MICRO_BENCHES.filter(
    ({ name }) => name === BASELINE || name.includes(options.filter ?? ''),
  )
  const batches = new Map<CorpusKind, BenchBatch>()
  for (const kind of CORPUS_KINDS) {
    // A corpus file holds JSON lines; text benches keep the generated ones.
    const file = kind === 'json' ? options.corpus : undefined
    batches.set(kind, createBatch(kind, { count: options.events, ...(file && { file }) }))
  }
  const results: (MicroResult | MicroSkip)[] = []
  let baselineMicros = Number.NaN
  for (const bench of selected) {
    const batch = batches.get(bench.kind)!
    const measured = await measure(bench, batch, options.timeMs)
    if (typeof measured === 'string') {
      results.push({ name: bench.name, skipped: measured })
      continue
    }
    if (bench.name === BASELINE) baselineMicros = measured
    results.push({
      name: bench.name,
      title: bench.title,
      microsPerEvent: measured,
      megabytesPerSecond: batch.body.length / (measured * batch.lines.length),
      timesJsonParse: measured / baselineMicros,
    })
  }
  return results
}

/** Median microseconds an event, or why the bench was skipped. */
async function measure(
  bench: MicroBench,
  batch: BenchBatch,
  timeMs: number,
): Promise<number | string> {
  let work: () => unknown
  try {
    work = await bench.prepare(batch)
  } catch (error) {
    if (error instanceof BenchSkipped) return error.message
    throw error
  }
  const isQuick = timeMs === 0
  const runner = new Bench({
    time: timeMs,
    iterations: isQuick ? 1 : 10,
    warmup: !isQuick,
    warmupTime: timeMs / 2,
    throws: true,
  })
  runner.add(bench.name, work)
  await runner.run()
  const result = runner.tasks[0]?.result
  if (result?.state !== 'completed') throw new Error(`${bench.name} did not complete`)
  // The median: on a shared machine the mean measures the neighbours.
  return (result.latency.p50 * 1_000) / batch.lines.length
}
