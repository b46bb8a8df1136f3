/** JSON lines to the native surface. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('native')

export const options = scenario.k6Options(
  { native: steadyLoad(scenario.options) },
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export default function send(data) {
  scenario.sendNext('native', data)
}
