/**
 * The newest events that alerts of a message are about, with the rights of the rule's owner. They
 * are of help, no more: what cannot be read soon is left out, and the message says so.
 */
import { readElementTexts, readMemberTexts } from '../../api/json-text.ts'
import { IngestError } from '../../errors.ts'
import {
  ALERT_SAMPLE_BYTES_MAX,
  ALERT_SAMPLES_BYTES_MAX,
  ALERT_SAMPLES_MAX,
  ALERT_SAMPLES_MS_MAX,
} from '../../limits.ts'
import type { Stream } from '../../model/stream.ts'
import { readSearchRequest, type SearchRequest } from '../../read/search/search-request.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'
import { StoreError, storeFault } from '../../store/store-error.ts'
import type { AlertMessage, MessageAlert } from '../webhook-body.ts'
import { withSamples } from './write-message.ts'

export interface SampleDeps {
  /** The page of events that a search answers, as JSON. */
  readonly search: (
    request: SearchRequest,
    streams: readonly Stream[],
    signal: AbortSignal,
  ) => Promise<Uint8Array>
  readonly nowMs: () => number
}

/** Of an alert: the texts of its samples, or why there are none. */
interface Samples {
  readonly texts: readonly string[]
  readonly problem: string | null
}

const NO_TIME = 'there was no time to read them'
const NO_SAMPLES: Samples = { texts: [], problem: null }

/**
 * The message with them. `findStreams` gives the streams that the rule's owner sees now; what it
 * throws is told as well.
 */
export async function addSamples(
  deps: SampleDeps,
  content: string,
  findStreams: () => Promise<readonly Stream[]>,
  signal: AbortSignal,
): Promise<string> {
  const { alerts } = JSON.parse(content) as AlertMessage
  const deadlineMs = deps.nowMs() + ALERT_SAMPLES_MS_MAX
  const all: Samples[] = []
  let bytesLeft = ALERT_SAMPLES_BYTES_MAX
  let found: Promise<readonly Stream[]> | undefined
  for (const alert of alerts) {
    if (!hasEvents(alert)) {
      all.push(NO_SAMPLES)
      continue
    }
    try {
      found ??= findStreams()
      const streams = await found
      const timeoutMs = deadlineMs - deps.nowMs()
      if (timeoutMs <= 0) throw new IngestError('unavailable', NO_TIME)
      const answer = await deps.search(
        requestOf(alert, timeoutMs, deps),
        ofGroup(streams, alert),
        signal,
      )
      const samples = samplesOf(Buffer.from(answer).toString(), bytesLeft)
      bytesLeft -= samples.bytes
      all.push(samples)
    } catch (cause) {
      signal.throwIfAborted()
      const isLate = deps.nowMs() >= deadlineMs
      all.push({ texts: [], problem: isLate ? NO_TIME : problemOf(cause) })
    }
  }
  return withSamples(content, all)
}

/** What is over, failed or was passed over has none to show. */
function hasEvents({ reason, status, query, fingerprint }: MessageAlert): boolean {
  if (query === null || status === 'resolved') return false
  return fingerprint !== '' || reason === 'corrected'
}

/** A rule may group by streams, of which queries say nothing. */
function ofGroup(streams: readonly Stream[], { labels }: MessageAlert): readonly Stream[] {
  const { _stream: only } = labels
  return only === undefined ? streams : streams.filter(({ streamId }) => String(streamId) === only)
}

function requestOf(
  { query, window }: MessageAlert,
  timeoutMs: number,
  { nowMs }: Pick<SampleDeps, 'nowMs'>,
): SearchRequest {
  const { from, to, time } = window
  const members = { query, from, to, limit: ALERT_SAMPLES_MAX, order: 'newest' }
  const basis = (time ?? 'ingested_at') as RuleSettings['time_basis']
  return readSearchRequest({ ...members, time_basis: basis, timeout_ms: timeoutMs }, nowMs())
}

function samplesOf(answer: string, bytesLeft: number): Samples & { readonly bytes: number } {
  const members = readMemberTexts(answer)
  let bytes = 0
  const texts = readElementTexts(members.get('events') ?? '[]').map((record) => {
    const parts = readMemberTexts(record)
    const event = parts.get('payload') ?? 'null'
    const size = Buffer.byteLength(event)
    const fits = size <= ALERT_SAMPLE_BYTES_MAX && bytes + size <= bytesLeft
    if (fits) bytes += size
    return `{"id":${parts.get('id')},"event":${fits ? event : 'null'}}`
  })
  const reason = members.get('complete') === 'false' ? members.get('reason') : undefined
  return { texts, problem: reason === undefined ? null : (JSON.parse(reason) as string), bytes }
}

function problemOf(cause: unknown): string {
  if (cause instanceof IngestError) return cause.message
  return cause instanceof StoreError ? storeFault(cause) : 'they could not be read'
}
