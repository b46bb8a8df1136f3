/** Sends one request and books its answer. k6 only. */
import { sleep } from 'k6'
import encoding from 'k6/encoding'
import http from 'k6/http'
import { metrics } from './metrics.mjs'
import { SURFACES, tryReadAccepted } from './surfaces.mjs'

const REQUEST_TIMEOUT = '60s'
/** After an answer that says the load test itself is wrong: not thousands of them a second. */
const FAILED_SLEEP_SECONDS = 1
let hasWarned = false

/**
 * Acknowledged, refused or failed: every answer is exactly one of them. Returns the seconds after
 * which to come again when it was refused, else 0.
 */
export function send(surface, body, stream, options, data) {
  const startMs = Date.now()
  const { path, contentType, keyHeader, isAnswerBinary } = SURFACES[surface]
  const [keyName, keyValue] = keyHeader(stream.key, encoding.b64encode)
  const answer = http.post(options.BASE_URL + path, body.bytes, {
    headers: { [keyName]: keyValue, 'Content-Type': contentType },
    responseType: isAnswerBinary ? 'binary' : 'text',
    timeout: REQUEST_TIMEOUT,
    ...(options.COMPRESSION === 'gzip' ? { compression: 'gzip' } : {}),
  })
  metrics.clock.add(startMs - data.startedAtMs)
  metrics.clock.add(Date.now() - data.startedAtMs)
  metrics.answers.add(1, { status: String(answer.status) })
  const isRefusal = answer.status === 429 || answer.status === 503
  metrics.refused.add(isRefusal)
  if (isRefusal) return bookRefusal(answer)
  if (answer.status !== 200 && answer.status !== 204) return bookFailure(surface, answer)
  return bookAcknowledgement(surface, body, answer, data.isCounted)
}

function bookAcknowledgement(surface, body, answer, isCounted) {
  const accepted = tryReadAccepted(surface, answer.body, body.eventCount)
  if (accepted < 0) return bookFailure(surface, answer)
  metrics.ackMs.add(answer.timings.duration)
  metrics.eventsAcknowledged.add(accepted)
  // What is stored is taken off after the run, where it can be counted.
  if (isCounted) metrics.eventsMissing.add(accepted)
  metrics.bytesAcknowledged.add(body.bytes.byteLength)
  if (accepted < body.eventCount) metrics.eventsRejected.add(body.eventCount - accepted)
  return 0
}

function bookRefusal(answer) {
  metrics.refusalMs.add(answer.timings.duration)
  const seconds = Number(answer.headers['Retry-After'])
  const isClean = Number.isInteger(seconds) && seconds >= 1
  if (!isClean) metrics.refusedUncleanly.add(1)
  return isClean ? seconds : 1
}

function bookFailure(surface, answer) {
  metrics.failed.add(1)
  if (!hasWarned) {
    hasWarned = true
    const what = answer.status === 0 ? answer.error : String(answer.body).slice(0, 300)
    console.warn(`${surface}: ${answer.status} ${what}`)
  }
  sleep(FAILED_SLEEP_SECONDS)
  return 0
}
