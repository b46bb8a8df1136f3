/** Every surface at once, as a fleet of different shippers; or those of `SURFACES`. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('mixed')
const { SURFACES, VUS, RATE } = scenario.options

/** Small requests come without a rate, also beside others that have one. */
const sharing = SURFACES.filter((sender) => sender !== 'small').length

const loads = SURFACES.map((sender) => [
  sender,
  steadyLoad(scenario.options, {
    exec: sender,
    vus: Math.max(1, Math.floor(VUS / SURFACES.length)),
    rate: sender === 'small' ? 0 : Math.ceil(RATE / sharing),
  }),
])

export const options = scenario.k6Options(
  Object.fromEntries(loads),
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export const native = (data) => scenario.sendNext('native', data)
export const bulk = (data) => scenario.sendNext('bulk', data)
export const otlp = (data) => scenario.sendNext('otlp', data)
export const loki = (data) => scenario.sendNext('loki', data)
export const hec = (data) => scenario.sendNext('hec', data)
export const small = (data) => scenario.sendNext('small', data)
