/**
 * Keeps the bytes of a batch that killed a worker twice, for a post-mortem. Files are private
 * (0600), few and bounded: an attacker who found such a batch must not fill the disk with it. Data
 * that is retried repeatedly, such as a damaged segment, is kept once.
 *
 * The bytes are as they were sent, before redaction. If the stream redacts, they are not written,
 * since values that its owner wants removed must not be stored; a description of the batch is
 * written instead. Stored events, which reading, replay and compaction work on, were redacted at
 * ingest.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { IngestTask, PoolTask, PreviewTask } from './messages.ts'

/** Files kept; later ones are only counted. */
const FILES_MAX = 16

/**
 * The key of the fingerprints of one process. They show which batches are equal, but unlike with a
 * plain hash, the secret in a short batch cannot be guessed by trying candidates.
 */
const FINGERPRINT_KEY = randomBytes(32)

/** Bytes of a fingerprint that tell files apart. */
const NAME_BYTES = 8

/** Quarantines tasks that killed a worker twice, except those that are retried in parts. */
export function quarantineIn(
  directory: string,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): (task: PoolTask, reason: string) => void {
  const kept = metrics.counter(
    'ingest_quarantined_batches_total',
    'Batches that killed their worker twice and were put aside',
  )
  return (task, reason) => {
    if (task.kind === 'ingest' && (task.batch.owners?.length ?? 0) > 1) {
      // The batcher now tries each stream's batch alone: the bad one comes here again.
      log.error({ reason }, 'a batch of several streams killed its worker twice')
      return
    }
    kept.inc()
    const file = quarantineTask(directory, task, Date.now())
    log.error({ file, reason, kind: task.kind }, 'a batch killed its worker twice')
  }
}

/**
 * Writes what may be kept of the task under `directory`. Returns the file, even if it existed
 * already, or undefined if there are too many.
 */
export function quarantineTask(
  directory: string,
  task: PoolTask,
  nowMs: number,
): string | undefined {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const isDescribed =
    task.kind === 'preview' || (task.kind === 'ingest' && task.batch.settings.redactSensitive)
  const bytes = bytesOf(task)
  const fingerprint = isDescribed ? secretFingerprint(bytes) : plainFingerprint(bytes)
  const short = fingerprint.slice(0, 2 * NAME_BYTES)
  const ending = `-${task.kind}-${short}${isDescribed ? '.json' : ''}`
  const names = readdirSync(directory)
  const known = names.find((name) => name.endsWith(ending))
  if (known !== undefined) return join(directory, known)
  if (names.length >= FILES_MAX) return undefined
  const time = new Date(nowMs).toISOString().replaceAll(':', '')
  const file = join(directory, `${time}${ending}`)
  const content = isDescribed ? describe(task, bytes) : bytes
  writeFileSync(file, content, { mode: 0o600, flag: 'wx' })
  return file
}

/** Holds nothing of the events: no byte, no key, no index or id that a client sent. */
function describe(task: IngestTask | PreviewTask, bytes: Uint8Array): string {
  const description = {
    kind: task.kind,
    bytes_not_kept:
      task.kind === 'ingest'
        ? 'the stream has redact_sensitive on, and these bytes were not redacted yet'
        : 'a sample for the redaction preview is never stored',
    bytes: bytes.length,
    fingerprint: secretFingerprint(bytes),
    ...(task.kind === 'ingest' ? describeBatch(task) : { sample: task.sample.kind }),
  }
  return `${JSON.stringify(description, undefined, 2)}\n`
}

function secretFingerprint(bytes: Uint8Array): string {
  return createHmac('sha256', FINGERPRINT_KEY).update(bytes).digest('hex')
}

/** For bytes that are kept; the same in every process. */
function plainFingerprint(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function describeBatch({ batch }: IngestTask): object {
  return {
    stream_id: String(batch.owners?.[0]?.streamId ?? batch.streamId),
    received_at: new Date(batch.receivedAtMs).toISOString(),
    parse_user_agents: batch.settings.parseUserAgents,
    redact_fields: batch.settings.redactFields.length,
    otlp_context: batch.settings.otlpContext,
    parts: batch.parts.map(({ framing, start, end }) => ({ framing, bytes: end - start })),
  }
}

function bytesOf(task: PoolTask): Uint8Array {
  if (task.kind === 'ingest') return Uint8Array.from(task.batch.bytes)
  if (task.kind === 'describe') return task.payload
  if (task.kind === 'replay') return Buffer.concat(task.segments.map(({ payload }) => payload))
  if (task.kind === 'compact' || task.kind === 'split') return Buffer.concat(task.payloads)
  if (task.kind === 'preview') return Buffer.from(task.sample.text)
  // Several reads may share a payload.
  return Buffer.concat([...new Set(task.reads.map((read) => read.payload))])
}
