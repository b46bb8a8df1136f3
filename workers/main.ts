/** What a pool thread runs: one task in, one result out, the result's buffers moved, not copied. */
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina'
import type { PoolResult, PoolTask, WorkerData } from '../src/pool/messages.ts'
import { CompactPipeline } from './compact.ts'
import { IngestPipeline } from './ingest.ts'
import { ArenaFullError } from './kernel/arena.ts'
import { MatchPipeline } from './match.ts'
import { SegmentReader } from './read-segment.ts'
import { previewEvent, previewString } from './redaction-preview.ts'
import { ReplayPipeline } from './replay.ts'
import { ReviewPipeline } from './review.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { SplitPipeline } from './split.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const { hashSeed } = workerData as WorkerData
/** Shared by all tasks: each starts it again, so what it remembers of keys exists only once. */
const tape = new JsonTape(new PathTrie(hashSeed))
const ingest = new IngestPipeline(tape)
const replay = new ReplayPipeline(tape)
const stored = new PayloadDecoder(tape)
const reader = new SegmentReader(stored)
const match = new MatchPipeline(stored)
const review = new ReviewPipeline(stored)
const compact = new CompactPipeline(tape)
const split = new SplitPipeline(compact)

/** A result and every buffer in it: Piscina's own `move` takes one buffer, ours holds several. */
class MovedResult {
  readonly #result: PoolResult
  readonly #buffers: readonly ArrayBufferLike[]

  constructor(result: PoolResult, buffers: readonly ArrayBufferLike[]) {
    this.#result = result
    this.#buffers = buffers
  }

  get [transferableSymbol](): object {
    return this.#buffers
  }

  get [valueSymbol](): object {
    return this.#result
  }
}

function moved(result: PoolResult, buffers: readonly ArrayBufferLike[]): unknown {
  return move(new MovedResult(result, buffers))
}

/**
 * Runs one task. Throws only for our own bugs; bad input is part of the result. A thread whose
 * arena is full ends: the arrays that kernels write to may be of unequal lengths by then.
 */
export default function run(task: PoolTask): unknown {
  try {
    return runTask(task)
  } catch (error) {
    if (error instanceof ArenaFullError) return endThread(error)
    throw error
  }
}

/** An error that nobody catches ends the thread, and is what its task fails with. */
function endThread(error: Error): Promise<never> {
  setImmediate(() => {
    throw error
  })
  return new Promise(() => {})
}

function runTask(task: PoolTask): unknown {
  switch (task.kind) {
    case 'ingest': {
      const batch = ingest.run(task.batch, task.output, task.watched)
      const buffers: ArrayBufferLike[] = []
      for (const segment of batch.segments) {
        for (const { buffer } of [segment.payload, segment.block.bytes]) {
          if (!(buffer instanceof SharedArrayBuffer)) buffers.push(buffer)
        }
        for (const sieved of segment.sieved ?? []) {
          if (sieved?.found !== undefined) buffers.push(sieved.found.records.buffer)
        }
      }
      for (const { bulkItems } of batch.parts) {
        if (bulkItems === undefined) continue
        buffers.push(bulkItems.idPlaces.buffer)
        const { buffer } = bulkItems.json
        if (!(buffer instanceof SharedArrayBuffer)) buffers.push(buffer)
      }
      return moved({ kind: 'ingest', batch }, buffers)
    }
    case 'replay': {
      const segments = task.segments.map(({ payload, part }) => {
        return replay.run(payload, task.streamId, part, task.textFields)
      })
      const buffers = segments.map(({ block }) => block.bytes.buffer)
      return moved({ kind: 'replay', segments }, buffers)
    }
    case 'describe': {
      const deltas = replay.describe(task.payload, task.streamId, task.part)
      return { kind: 'describe', deltas } satisfies PoolResult
    }
    case 'preview': {
      const { sample, redactFields } = task
      const preview =
        sample.kind === 'string'
          ? previewString(sample.text)
          : previewEvent(Buffer.from(sample.text), redactFields)
      return { kind: 'preview', preview } satisfies PoolResult
    }
    case 'read': {
      const json = reader.run(task.reads, task.format)
      return moved({ kind: 'read', json, damaged: reader.damaged }, [json.buffer])
    }
    case 'match': {
      const matched = match.run(task)
      const { json, jsonEnd, read, ordinal, timeNs } = matched.events
      const buffers = [json, jsonEnd, read, ordinal, timeNs].map(({ buffer }) => buffer)
      return moved({ kind: 'match', ...matched }, buffers)
    }
    case 'review':
      return { kind: 'review', reviewed: review.run(task) } satisfies PoolResult
    case 'compact': {
      const merged = compact.run(task.payloads)
      return moved({ kind: 'compact', ...merged }, [merged.payload.buffer])
    }
    case 'split': {
      const parts = split.run(task)
      return moved({ kind: 'split', ...parts }, [
        parts.bytes.buffer,
        parts.ends.buffer,
        parts.eventCounts.buffer,
        parts.rawBytes.buffer,
      ])
    }
  }
}
