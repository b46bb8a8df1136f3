/** What a chart's value of one option of Sluice may be, from the table of options. */
import { OPTIONS } from '../../src/config.ts'
import { allowed, type Option } from '../../src/config-values.ts'

/** The chart gives these itself, or takes them from a Secret. */
const BY_CHART: readonly string[] = [
  OPTIONS.port.flag,
  OPTIONS.dataDir.flag,
  OPTIONS.rebuildProjection.flag,
]

/** Files and URLs are not for plain values, but for the one that holds no password. */
const NOT_PLAIN: readonly Option['kind'][] = ['file', 'url', 'postgres']

/** Properties of `options` in values.schema.json. */
export function optionSchemas(): Record<string, object> {
  const options: readonly Option[] = Object.values(OPTIONS)
  const settable = options.filter(
    ({ flag, kind }) =>
      flag === OPTIONS.publicUrl.flag || !(NOT_PLAIN.includes(kind) || BY_CHART.includes(flag)),
  )
  return Object.fromEntries(settable.map((option) => [option.flag.slice(2), schemaOf(option)]))
}

function schemaOf(option: Option): object {
  const description = `${option.sentence} Takes ${allowed(option)}.`
  if (option.kind === 'integer') {
    return { type: 'integer', description, minimum: option.min, maximum: option.max }
  }
  if (option.kind === 'choice') {
    // In YAML `true` is no string.
    const booleans = option.choices.filter((choice) => /^(true|false)$/.test(choice))
    return { enum: [...option.choices, ...booleans.map((one) => one === 'true')], description }
  }
  return { type: 'string', minLength: 1, description }
}
