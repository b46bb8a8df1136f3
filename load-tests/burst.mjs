/**
 * A burst of far more bytes than may be in flight, between a quiet time before and one after.
 *
 * Refusals are wanted: 429 or 503, each with Retry-After, and nothing of a refused request is
 * stored. Its users come again long before that, as a rude fleet would. Afterwards the service
 * must be as it was: no refusals, answers in time.
 */
import { QUIET_EVENTS } from './scenarios.mjs'
import { createScenario, steadyLoad } from './support/scenario.mjs'

const QUIET_SECONDS = 5
/** What was taken in the burst may be finished first; Retry-After is a second or two. */
const REST_SECONDS = 5
const QUIET_USERS = 2
const BURST_WAIT_SECONDS_MAX = 0.1

const scenario = createScenario('burst')
const { DURATION, ACK_P99_MS_MAX } = scenario.options
const quiet = (startSeconds) =>
  steadyLoad(scenario.options, {
    exec: 'send',
    vus: QUIET_USERS,
    rate: 0,
    seconds: QUIET_SECONDS,
    startSeconds,
  })

export const options = scenario.k6Options(
  {
    before: quiet(0),
    burst: steadyLoad(scenario.options, { exec: 'burst', rate: 0, startSeconds: QUIET_SECONDS }),
    after: quiet(QUIET_SECONDS + DURATION + REST_SECONDS),
  },
  {
    // Of the burst no promise but that it is refused, cleanly, and not all of it.
    refused: ['rate<1'],
    ack_ms: ['max>=0'],
    'refused{scenario:before}': ['rate==0'],
    'refused{scenario:burst}': ['rate>0', 'rate<1'],
    'refused{scenario:after}': ['rate==0'],
    'ack_ms{scenario:after}': [`p(99)<=${ACK_P99_MS_MAX}`],
    'events_acknowledged{scenario:after}': ['count>0'],
  },
)
export const { setup, teardown, handleSummary } = scenario

export function send(data) {
  scenario.sendNext('native', data, { eventCount: QUIET_EVENTS })
}

export function burst(data) {
  scenario.sendNext('native', data, { waitMax: BURST_WAIT_SECONDS_MAX })
}
