/** Every surface at once, as a fleet of different shippers; or those of `SURFACES`. */
import execution from 'k6/execution'
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('mixed')
const { SURFACES, VUS, RATE } = scenario.options

/** Small requests come without a rate, also beside others that have one. */
const sharing = SURFACES.filter((sender) => sender !== 'small').length

const loads = SURFACES.map((sender) => [
  sender,
  steadyLoad(scenario.options, {
    exec: 'send',
    vus: Math.max(1, Math.floor(VUS / SURFACES.length)),
    rate: sender === 'small' ? 0 : Math.ceil(RATE / sharing),
  }),
])

export const options = scenario.k6Options(
  Object.fromEntries(loads),
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

/** Each of k6's scenarios here has the name of what it sends. */
export const send = (data) => scenario.sendNext(execution.scenario.name, data)
