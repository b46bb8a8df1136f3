/** What a micro bench is: one way to do one piece of the work, over the same batch as others. */
import { type CorpusKind, joinLines, loadCorpus } from './corpus.ts'

/** The batch every bench of one kind works on. Benches may not change it. */
export interface BenchBatch {
  readonly kind: CorpusKind
  readonly lines: readonly string[]
  /** The lines, each ended by a newline. */
  readonly body: Buffer
}

export interface MicroBench {
  /** Folder and file: `decode/json-parse`. */
  readonly name: string
  /** What is done to an event, in a few words. */
  readonly title: string
  readonly kind: CorpusKind
  /** Sets up outside the measured time. Throws `BenchSkipped` when it cannot run here. */
  prepare(batch: BenchBatch): MeasuredWork | Promise<MeasuredWork>
}

/** Handles the whole batch once. What it returns is ignored, but keeps work from being elided. */
export type MeasuredWork = () => unknown

/** The bench needs something this machine does not have; the message says what. */
export class BenchSkipped extends Error {
  override readonly name = 'BenchSkipped'
}

export function createBatch(
  kind: CorpusKind,
  options: { count: number; file?: string },
): BenchBatch {
  const lines = loadCorpus({ kind, ...options })
  return { kind, lines, body: joinLines(lines) }
}
