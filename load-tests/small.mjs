/** Small requests: one event each, many connections; what a commit's flush costs. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('small')

export const options = scenario.k6Options(
  { small: steadyLoad(scenario.options) },
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export default function send(data) {
  scenario.sendNext('native', data)
}
