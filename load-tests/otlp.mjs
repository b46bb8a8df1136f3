/** Export requests of OTLP logs, many hosts in one, as a collector sends them. */
import { createScenario, rateThresholds, steadyLoad } from './support/scenario.mjs'

const scenario = createScenario('otlp')

export const options = scenario.k6Options(
  { otlp: steadyLoad(scenario.options) },
  rateThresholds(scenario.options),
)
export const { setup, teardown, handleSummary } = scenario

export default function send(data) {
  scenario.sendNext('otlp', data)
}
