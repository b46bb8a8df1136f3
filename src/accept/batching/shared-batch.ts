/**
 * Shared batches while they wait: small requests of one stream. Also decides which streams' batches
 * may go to the pool as one task.
 *
 * A task, a row and a block cost as much for ten events as for a thousand. So small batches of
 * streams whose events are transformed alike become one mixed batch. Large batches stay separate,
 * as do those of streams with a table of their own (`isPromoted`), and of streams whose user agents
 * are parsed, because the bound on that parsing counts by stream.
 */
import assert from 'node:assert/strict'
import { BATCH_PADDING, type BatchBuffers, padBatch } from '../../bytes/batch-buffers.ts'
import { copyBytes } from '../../bytes/copy-bytes.ts'
import { IngestError } from '../../errors.ts'
import { BATCH_BYTES_TARGET, BATCH_PARTS_MAX, MIX_STREAM_BYTES_MAX } from '../../limits.ts'
import type {
  AcceptedBatch,
  BatchInput,
  BatchOwner,
  Part,
} from '../../model/batch/accepted-batch.ts'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { type Stream, transformSettings } from '../../model/stream.ts'
import { ownTextFields } from '../../model/text-fields.ts'
import type { CommittedPart } from '../dialect.ts'

/** Whose request it is. */
export interface Client {
  /** It was answered or went away, so nothing of the request is needed any more. */
  readonly isOver: boolean
  /** False when its key may have been revoked since it was admitted; `confirm` then asks. */
  readonly isAdmitted?: boolean
  /** Rejects when nothing of the request may be stored any more. */
  confirm?(): Promise<void>
}

export interface Waiter {
  readonly client: Client
  readonly resolve: (placed: CommittedPart) => void
  readonly reject: (error: unknown) => void
}

/** Requests of one stream whose decoders take the same input, one after another. */
export interface OpenBatch {
  readonly stream: Stream
  /** Small batches with the same `mixKey` may share a task; undefined: never shares one. */
  readonly mixKey: string | undefined
  buffer: Uint8Array
  length: number
  eventBytes: number
  parts: Part[]
  /** One per part, in the order of the parts. */
  waiters: Waiter[]
}

/** Requests of a stream with the same key may share a batch. */
export function batchKey(input: BatchInput, stream: Stream): string {
  return `${input} ${stream.streamId}`
}

export function mixKeyOf(input: BatchInput, stream: Stream): string | undefined {
  if (stream.parseUserAgents) return undefined
  const textFields = ownTextFields(stream.textFields)
  const texts = textFields === undefined ? '' : ` ${JSON.stringify(textFields)}`
  const kind = `${input} ${stream.otlpContext}${texts}`
  return stream.redactSensitive ? `${kind} ${JSON.stringify(stream.redactFields)}` : kind
}

/** Settings may change while a batch waits: a request is encoded with those it arrived under. */
export function hasSameSettings(a: Stream, b: Stream): boolean {
  if (a === b) return true
  const isSame =
    a.parseUserAgents === b.parseUserAgents &&
    a.redactSensitive === b.redactSensitive &&
    a.otlpContext === b.otlpContext
  return (
    isSame &&
    hasSameNames(a.redactFields, b.redactFields) &&
    hasSameNames(a.textFields, b.textFields)
  )
}

function hasSameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index])
}

export function hasRoom(batch: OpenBatch, bytes: number, eventBytes: number): boolean {
  const fits = batch.length + bytes + 1 <= BATCH_BYTES_TARGET
  const eventsFit = batch.eventBytes + eventBytes + 1 <= BATCH_BYTES_TARGET
  return fits && eventsFit && batch.parts.length < BATCH_PARTS_MAX
}

/** Appends a request's bytes, ended by a line feed. */
export function append(
  buffers: BatchBuffers,
  batch: OpenBatch,
  bytes: Uint8Array,
  part: Omit<Part, 'start' | 'end'>,
): void {
  const start = batch.length
  const end = start + bytes.length
  if (end + 1 + BATCH_PADDING > batch.buffer.length) {
    batch.buffer = buffers.grow(batch.buffer, start, Math.max(end + 1, start * 2))
  }
  copyBytes(batch.buffer, bytes, start)
  batch.buffer[end] = 0x0a // Ends an unterminated last line, and keeps parts apart.
  batch.length = end + 1
  batch.parts.push({ ...part, start, end })
}

/** Takes out the requests of clients that are gone, and rejects them; their bytes are skipped. */
export function leaveOutOver(batch: OpenBatch): void {
  if (!batch.waiters.some(({ client }) => client.isOver)) return
  const error = new IngestError('malformed', 'the client went away')
  leaveOut(batch, (client) => (client.isOver ? error : undefined))
}

/** Takes out the requests for which `errorOf` returns an error, and rejects them with it. */
export function leaveOut(batch: OpenBatch, errorOf: (client: Client) => unknown): void {
  const errors = batch.waiters.map(({ client }) => errorOf(client))
  const { waiters } = batch
  batch.parts = batch.parts.filter((_, index) => errors[index] === undefined)
  batch.waiters = waiters.filter((_, index) => errors[index] === undefined)
  for (const [index, { reject }] of waiters.entries()) {
    if (errors[index] !== undefined) reject(errors[index])
  }
}

/** Whether all requests in the batches may be stored, as far as this node knows. */
export function areAdmitted(batches: readonly OpenBatch[]): boolean {
  return batches.every(({ waiters }) => waiters.every(({ client }) => client.isAdmitted !== false))
}

/** The clients whose requests must not be stored any more, and why. Never rejects. */
export async function findRefused(
  batches: readonly OpenBatch[],
): Promise<ReadonlyMap<Client, unknown>> {
  const doubtful = batches.flatMap(({ waiters }) => {
    return waiters.map(({ client }) => client).filter(({ isAdmitted }) => isAdmitted === false)
  })
  const refused = new Map<Client, unknown>()
  const confirm = (client: Client) =>
    client.confirm?.().catch((error: unknown) => void refused.set(client, error))
  await Promise.all(doubtful.map(confirm))
  return refused
}

/** Batches for one task. */
export interface BatchGroup {
  /** Of different streams, so that each stream has one run in a mixed segment. */
  readonly batches: readonly OpenBatch[]
  /** The result goes into the table that streams share. */
  readonly isMixed: boolean
}

/** Takes the oldest batch out of `open`, with those that may share its task. */
export function takeOldest(open: Map<string, OpenBatch>): BatchGroup | undefined {
  const [oldest] = open
  if (oldest === undefined) return undefined
  const [key, first] = oldest
  open.delete(key)
  if (first.stream.isPromoted) return { batches: [first], isMixed: false }
  const batches = [first]
  if (!mayMix(first)) return { batches, isMixed: true }
  let { length, eventBytes } = first
  let parts = first.parts.length
  for (const [otherKey, batch] of open) {
    if (batch.mixKey !== first.mixKey || !mayMix(batch) || batch.stream.isPromoted) continue
    length += batch.length
    eventBytes += batch.eventBytes
    parts += batch.parts.length
    if (Math.max(length, eventBytes) > BATCH_BYTES_TARGET || parts > BATCH_PARTS_MAX) break
    batches.push(batch)
    open.delete(otherKey)
  }
  return { batches, isMixed: true }
}

/** An event has at least two bytes, so the events of one run fit a segment. */
function mayMix(batch: OpenBatch): boolean {
  return batch.mixKey !== undefined && batch.length <= MIX_STREAM_BYTES_MAX
}

/** What the pool is to encode. The batch is in `buffer`. */
export interface GroupedBatch {
  readonly batch: AcceptedBatch
  readonly buffer: Uint8Array
  /** Bytes of the batch's data. */
  readonly length: number
}

/** The group as one batch; several batches are copied one after another. */
export function joinGroup(
  buffers: BatchBuffers,
  { batches, isMixed }: BatchGroup,
  receivedAtMs: number,
): GroupedBatch {
  const [first] = batches
  assert(first !== undefined)
  const joined = batches.length === 1 ? first : join(buffers, batches)
  const owners = isMixed ? ownersOf(batches) : undefined
  const batch = acceptedBatch(first.stream, joined, receivedAtMs, owners)
  return { batch, buffer: joined.buffer, length: joined.length }
}

/** How many parts of the group each stream owns. */
export function ownersOf(batches: readonly OpenBatch[]): BatchOwner[] {
  return batches.map(({ stream: { streamId }, parts }) => ({ streamId, parts: parts.length }))
}

/** The pool's input, from data with room for its padding. With `owners` the batch is mixed. */
export function acceptedBatch(
  stream: Stream,
  { buffer, length, parts }: Pick<AcceptedBatch, 'parts'> & Omit<GroupedBatch, 'batch'>,
  receivedAtMs: number,
  owners: readonly BatchOwner[] | undefined,
): AcceptedBatch {
  padBatch(buffer, length)
  const batch = {
    settings: transformSettings(stream),
    receivedAtMs,
    bytes: buffer.subarray(0, length + BATCH_PADDING),
    parts,
  }
  return owners === undefined
    ? { ...batch, streamId: stream.streamId }
    : { ...batch, streamId: MIXED_STREAM, owners }
}

function join(
  buffers: BatchBuffers,
  batches: readonly OpenBatch[],
): Pick<OpenBatch, 'buffer' | 'length' | 'parts'> {
  const length = batches.reduce((sum, batch) => sum + batch.length, 0)
  const buffer = buffers.take(length + 1)
  const parts: Part[] = []
  let at = 0
  for (const batch of batches) {
    copyBytes(buffer, batch.buffer.subarray(0, batch.length), at)
    for (const part of batch.parts) {
      parts.push({ ...part, start: part.start + at, end: part.end + at })
    }
    at += batch.length
  }
  return { buffer, length, parts }
}
