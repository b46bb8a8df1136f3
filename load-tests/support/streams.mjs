/**
 * Streams and keys for a run, and the count after it: what was acknowledged must be stored, once,
 * and nothing else may be. k6 only.
 */
import { sleep } from 'k6'
import execution from 'k6/execution'
import http from 'k6/http'
import { metrics } from './metrics.mjs'

/** A new key acts within a second on every node. */
const KEY_SETTLE_SECONDS = 1
const POLL_SECONDS = 0.5

/** Ends the run with one line that says why when there is nothing to send to. */
export function makeStreams(options, scenario) {
  try {
    return tryMakeStreams(options, scenario)
  } catch (error) {
    return execution.test.abort(error.message)
  }
}

function tryMakeStreams(options, scenario) {
  if (options.BASE_URL === '') throw new Error('BASE_URL says where the service is')
  let streams
  if (options.API_KEY !== '') {
    streams = [{ id: options.STREAM_ID, key: options.API_KEY, isOurs: false }]
  } else if (options.TOKEN !== '') {
    streams = Array.from({ length: options.STREAMS }, (_, i) => makeStream(options, scenario, i))
    sleep(KEY_SETTLE_SECONDS)
  } else {
    throw new Error('TOKEN (to make a stream) or API_KEY (of a stream of yours) is needed')
  }
  const isCounted = options.TOKEN !== '' && streams.every(({ id }) => id !== '')
  return {
    isCounted,
    streams: streams.map((stream) => ({
      ...stream,
      storedBefore: isCounted ? countStored(options, stream.id) : 0,
      queriedBefore: isCounted && !stream.isOurs ? countQueried(options, stream.id) : 0,
    })),
    startedAtMs: Date.now(),
  }
}

/** Adds what is stored to the account of what was acknowledged, then waits for the projection. */
export function settleStreams(options, { streams, isCounted }) {
  try {
    if (isCounted) countAll(options, streams)
  } finally {
    for (const { id, isOurs } of streams) {
      if (isOurs && !options.KEEP_STREAMS) call(options, 'DELETE', `/v1/streams/${id}`)
    }
  }
}

function countAll(options, streams) {
  const stored = streams.map(({ id, storedBefore }) => countStored(options, id) - storedBefore)
  const storedAll = stored.reduce((sum, count) => sum + count, 0)
  metrics.eventsMissing.add(-storedAll)
  metrics.eventsCounted.add(storedAll)
  metrics.eventsUnqueried.add(storedAll - waitForQueries(options, streams, storedAll))
}

/** Stops at the first count that has all, or more, which is as wrong as less. */
function waitForQueries(options, streams, storedAll) {
  const startMs = Date.now()
  for (;;) {
    let queried = 0
    for (const { id, queriedBefore } of streams)
      queried += countQueried(options, id) - queriedBefore
    const seconds = (Date.now() - startMs) / 1_000
    if (queried >= storedAll || seconds > options.PROJECTION_SECONDS_MAX) {
      metrics.catchUpSeconds.add(seconds)
      return queried
    }
    sleep(POLL_SECONDS)
  }
}

function makeStream(options, scenario, index) {
  // Names are unique among an owner's streams, and several may test at once.
  const name = `load-${scenario}-${Date.now()}-${Math.floor(Math.random() * 1e9)}-${index}`
  const { id } = call(options, 'POST', '/v1/streams', { name })
  const { key } = call(options, 'POST', `/v1/streams/${id}/keys`, { name: 'load' })
  return { id, key, isOurs: true }
}

function countStored(options, id) {
  return call(options, 'GET', `/v1/streams/${id}/usage`).events
}

/** Over all time: the clock of the service need not be ours. */
function countQueried(options, id) {
  const to = new Date(Date.now() + 7 * 86_400_000).toISOString()
  return call(options, 'POST', `/v1/streams/${id}/query`, { from: '2000-01-01T00:00:00Z', to })
    .total
}

function call(options, method, path, body) {
  const answer = http.request(
    method,
    options.BASE_URL + path,
    body === undefined ? null : JSON.stringify(body),
    {
      headers: {
        Authorization: `Bearer ${options.TOKEN}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
    },
  )
  if (answer.status >= 200 && answer.status < 300) return answer.body ? answer.json() : undefined
  // No secret is in the body of an error; in a path no more than an id.
  const what = answer.status === 0 ? answer.error : `${answer.status} ${answer.body}`
  throw new Error(`${method} ${options.BASE_URL}${path}: ${what}`)
}
