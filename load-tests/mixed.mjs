/** Every surface at once, as a fleet of different shippers. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('mixed')
const { VUS, RATE } = scenario.options

const quarterOfUsers = Math.max(1, Math.floor(VUS / 4))

/** Each has a quarter of the users and, when there is a rate, a third of it. */
const share = (exec) =>
  steadyLoad(scenario.options, {
    exec,
    vus: quarterOfUsers,
    rate: Math.ceil(RATE / 3),
  })

export const options = scenario.k6Options(
  {
    native: share('native'),
    bulk: share('bulk'),
    otlp: share('otlp'),
    // One event a request: a user each beside the others, with or without a rate.
    small: steadyLoad(scenario.options, { exec: 'small', vus: quarterOfUsers, rate: 0 }),
  },
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export const native = (data) => scenario.sendNext('native', data)
export const bulk = (data) => scenario.sendNext('bulk', data)
export const otlp = (data) => scenario.sendNext('otlp', data)
export const small = (data) => scenario.sendNext('native', data, { eventCount: 1 })
