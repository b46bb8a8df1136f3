/**
 * A steady rate for long: what grows or slows shows in the second half. The service's memory is
 * read from its /metrics where that can be reached.
 */
import { sleep } from 'k6'
import http from 'k6/http'
import { metrics } from './support/metrics.mjs'
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const MIB = 1024 * 1024
const WATCH_SECONDS = 2

const scenario = createScenario('soak')
const { BASE_URL, SURFACES, DURATION, MEMORY_GROWTH_MIB_MAX } = scenario.options
const seconds = Math.max(1, Math.ceil(DURATION / 2))

export const options = scenario.k6Options(
  {
    first_half: steadyLoad(scenario.options, { exec: 'send', seconds }),
    second_half: steadyLoad(scenario.options, { exec: 'send', seconds, startSeconds: seconds }),
    watch: { executor: 'constant-vus', exec: 'watch', vus: 1, duration: `${2 * seconds}s` },
  },
  {
    ...rateThresholds(scenario.options),
    service_memory_growth_mib: [`value<=${MEMORY_GROWTH_MIB_MAX}`],
  },
)
export const { setup, teardown, handleSummary } = scenario

export function send(data) {
  scenario.sendNext(SURFACES[__ITER % SURFACES.length], data)
}

let atHalfMib
let samples = []

/** Growth is against the middle, by medians of the samples around: memory swings. */
export function watch(data) {
  const answer = http.get(`${BASE_URL}/metrics`)
  const match = /^process_resident_memory_bytes (\S+)$/m.exec(answer.body ?? '')
  if (match === null) {
    sleep(60)
    return
  }
  const mib = Number(match[1]) / MIB
  metrics.memoryMib.add(mib)
  const windowSamples = Math.max(3, Math.floor(seconds / WATCH_SECONDS / 4))
  samples = [...samples, mib].slice(-windowSamples)
  const median = [...samples].sort((a, b) => a - b)[samples.length >> 1]
  if (Date.now() - data.startedAtMs < seconds * 1_000) atHalfMib = median
  else if (atHalfMib !== undefined) metrics.memoryGrowthMib.add(median - atHalfMib)
  sleep(WATCH_SECONDS)
}
