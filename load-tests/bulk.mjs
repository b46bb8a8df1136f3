/** Bulk requests as forwarders send them, with the full answer. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('bulk')

export const options = scenario.k6Options(
  { bulk: steadyLoad(scenario.options) },
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export default function send(data) {
  scenario.sendNext('bulk', data)
}
