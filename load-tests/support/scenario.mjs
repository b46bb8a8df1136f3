/**
 * What the scenario files are made of: options, the sending of one request, and what k6
 * calls before and after. A file gives its name and the k6 scenarios it consists of.
 *
 * k6 only.
 */
import { sleep } from 'k6'
import { bodiesOf, bodyOf, readOptions } from '../options.mjs'
import { fileOf, takeBodies } from './bodies.mjs'
import { sharedThresholds } from './metrics.mjs'
import { send } from './send.mjs'
import { makeStreams, settleStreams } from './streams.mjs'
import { formatSummary, summarize } from './summary.mjs'

/** What was begun when the time is up may still be answered. */
const GRACEFUL_STOP = '60s'

export function createScenario(name) {
  const options = readOptions(__ENV, name)
  const turns = openBodies(options)
  let parts = []

  /** One request of this user's next body; then waits as long as a refusal says. */
  function sendNext(sender, data) {
    const { surface, eventCount } = bodyOf(sender, options)
    const turn = turns.get(fileOf(surface, eventCount))
    const bytes = turn.bodies[turn.sent++ % turn.bodies.length]
    const stream = data.streams[__VU % data.streams.length]
    const waitSeconds = send(surface, { bytes, eventCount }, stream, options, data)
    // Not all at once when the time has come.
    if (waitSeconds > 0) {
      sleep(Math.min(waitSeconds, options.RETRY_SECONDS_MAX) * (1 + Math.random() / 4))
    }
  }

  return {
    options,
    sendNext,
    k6Options: (scenarios, thresholds = {}) => {
      parts = Object.keys(scenarios)
      return {
        scenarios,
        thresholds: { ...sharedThresholds(options, parts), ...thresholds },
        summaryTrendStats: ['min', 'avg', 'p(50)', 'p(90)', 'p(99)', 'max', 'count'],
        // Nothing is recorded that nobody looks at.
        systemTags: ['scenario'],
        setupTimeout: '60s',
        teardownTimeout: `${options.PROJECTION_SECONDS_MAX + 120}s`,
      }
    },
    setup: () => makeStreams(options, name),
    teardown: (data) => settleStreams(options, data),
    handleSummary: (data) => {
      const summary = summarize(data, name, parts)
      return {
        stdout: formatSummary(summary),
        ...(options.SUMMARY_JSON === ''
          ? {}
          : { [options.SUMMARY_JSON]: `${JSON.stringify(summary, null, 2)}\n` }),
      }
    },
  }
}

/**
 * Requests of `eventCount` events for the time of the options: one after the other on each
 * connection, or with `RATE` when they are due, however long the answers take.
 */
export function steadyLoad(
  options,
  { exec = 'default', seconds, startSeconds = 0, vus, rate } = {},
) {
  const users = vus ?? options.VUS
  const eventsPerSecond = rate ?? options.RATE
  const duration = `${seconds ?? options.DURATION}s`
  const shared = { exec, startTime: `${startSeconds}s`, gracefulStop: GRACEFUL_STOP, duration }
  if (eventsPerSecond === 0) return { executor: 'constant-vus', vus: users, ...shared }
  // k6 takes whole iterations for a unit of time; a minute makes any rate of events one.
  return {
    executor: 'constant-arrival-rate',
    rate: Math.max(1, Math.round((eventsPerSecond * 60) / options.EVENTS_PER_REQUEST)),
    timeUnit: '60s',
    preAllocatedVUs: users,
    maxVUs: users,
    ...shared,
  }
}

/** With a rate: nearly all requests were sent when due. Else the users were too few. */
export function rateThresholds(options) {
  if (options.RATE === 0) return {}
  const due = (options.RATE * options.DURATION) / options.EVENTS_PER_REQUEST
  return { dropped_iterations: [`count<=${Math.max(1, Math.ceil(due / 100))}`] }
}

/** The bodies of this user by the names of their files. k6 opens files in the init context only. */
function openBodies(options) {
  if (!__ENV.BODIES) {
    throw new Error('BODIES names no folder: use `npm run load -- <scenario>`, which makes one')
  }
  return new Map(
    bodiesOf(options).map(({ surface, eventCount }) => {
      const file = fileOf(surface, eventCount)
      const bytes = open(`${__ENV.BODIES}/${file}`, 'b')
      // User 0 is k6 reading the options.
      return [file, { bodies: __VU === 0 ? [] : takeBodies(bytes, eventCount, __VU), sent: 0 }]
    }),
  )
}
