/**
 * Answers as Splunk's HTTP Event Collector gives them. Its clients decide by the status: nearly all
 * retry after 503, which is Splunk's for "busy", some drop what is answered with 429, and most what
 * gets another 4xx (docs/collectors/splunk-hec.md). Some compare the text. `detail` is ours, for
 * people: clients skip what they do not know.
 */
import { ERRORS, type IngestError } from '../../../errors.ts'
import type { Reply } from '../../../http/exchange.ts'
import { CLOCK_LEAD_MS_MAX } from '../../../limits.ts'
import { HEC_FAULTS } from '../../../model/batch/hec-part.ts'
import type { IngestReport } from '../../ingest-report.ts'
import type { HecHead } from './hec-request.ts'

interface HecAnswer {
  readonly status: number
  readonly code: number
  readonly text: string
}

const TOKEN_REQUIRED = { status: 401, code: 2, text: 'Token is required' }
const INVALID_AUTHORIZATION = { status: 401, code: 3, text: 'Invalid authorization' }
const INVALID_TOKEN = { status: 403, code: 4, text: 'Invalid token' }
const NO_DATA = { status: 400, code: 5, text: 'No data' }
const INVALID_FORMAT = { status: 400, code: 6, text: 'Invalid data format' }
const SERVER_ERROR = { status: 500, code: 8, text: 'Internal server error' }
const SERVER_BUSY = { status: 503, code: 9, text: 'Server is busy' }
const CHANNEL_MISSING = { status: 400, code: 10, text: 'Data channel is missing' }
const NO_QUERY_TOKEN = { status: 400, code: 16, text: 'Query string authorization is not enabled' }
const HEALTHY = { status: 200, code: 17, text: 'HEC is healthy' }
const UNHEALTHY = { status: 503, code: 18, text: 'HEC is unhealthy, queues are full' }

const WITHOUT_KEY = {
  token: TOKEN_REQUIRED,
  scheme: INVALID_AUTHORIZATION,
  query: NO_QUERY_TOKEN,
} as const
const CHALLENGE = ['WWW-Authenticate', 'Splunk realm="sluice"'] as const

function hecReply(
  { status, code, text }: HecAnswer,
  members?: Readonly<Record<string, unknown>>,
): Reply {
  return {
    status,
    contentType: 'application/json',
    body: JSON.stringify({ text, code, ...members }),
  }
}

export const healthyReply = hecReply(HEALTHY)
export const channelMissing = hecReply(CHANNEL_MISSING)

/** A number above all that were given, by this process or another. */
let lastAckId = 0

/** The text of a success; with a channel it says how to ask for it again. */
export function successText(hasChannel: boolean): string {
  if (!hasChannel) return '{"text":"Success","code":0}'
  lastAckId = Math.max(lastAckId + 1, Date.now() * ACK_IDS_A_MS)
  return `{"text":"Success","code":0,"ackId":${lastAckId}}`
}

/** Ids go by time, so that any node knows which were given, after a restart too. */
const ACK_IDS_A_MS = 1_000

/** Whether the id was given: then its events are on disk. */
export function isAcknowledged(id: unknown): boolean {
  return (
    Number.isSafeInteger(id) &&
    Number(id) >= 0 &&
    Number(id) <= (Date.now() + CLOCK_LEAD_MS_MAX) * ACK_IDS_A_MS
  )
}

/** The reply to a request that failed. */
export function refusal(error: IngestError, head: HecHead, report?: IngestReport): Reply {
  const answer = answerOf(error, head, report)
  const first = report?.firstFault
  const isInternal = error.code === 'internal'
  const reply = hecReply(answer, {
    ...(first !== undefined && { 'invalid-event-number': first.index }),
    ...(!isInternal && error.message !== answer.text && { detail: error.message }),
  })
  const headers: (readonly [string, string])[] = []
  const { retrySeconds } = error
  if (retrySeconds !== undefined) headers.push(['Retry-After', String(retrySeconds)])
  if (answer.status === 401) headers.push(CHALLENGE)
  return { ...reply, headers }
}

function answerOf(error: IngestError, head: HecHead, report: IngestReport | undefined): HecAnswer {
  const { httpStatus } = ERRORS[error.code]
  switch (error.code) {
    case 'unauthenticated':
      return head.missing === undefined ? INVALID_TOKEN : WITHOUT_KEY[head.missing]
    case 'forbidden':
      return INVALID_TOKEN
    case 'malformed':
      return faultOf(report)
    case 'internal':
      return SERVER_ERROR
    case 'too_slow':
    case 'rate_limited':
    case 'storage_cap_reached':
    case 'overloaded':
    case 'unavailable':
      return SERVER_BUSY
    case 'too_large':
    case 'unsupported_media_type':
      return { ...INVALID_FORMAT, status: httpStatus }
    default:
      return { ...SERVER_BUSY, status: httpStatus }
  }
}

function faultOf(report: IngestReport | undefined): HecAnswer {
  const first = report?.firstFault
  if (report !== undefined && first === undefined) return NO_DATA
  const known = Object.values(HEC_FAULTS).find(({ text }) => text === first?.message)
  return known === undefined ? INVALID_FORMAT : { status: 400, ...known }
}

/** The reply to a question after the health, where the key or its store is no good. */
export function unhealthy(error: IngestError): Reply {
  const isKey = error.code === 'unauthenticated' || error.code === 'forbidden'
  return hecReply(isKey ? { ...INVALID_TOKEN, status: 400 } : UNHEALTHY)
}
