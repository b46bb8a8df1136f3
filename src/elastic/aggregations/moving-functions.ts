/** `MovingFunctions` of Elasticsearch: what a `moving_fn` may compute of a window. */
import { readText, refused } from '../members.ts'

type Moving = (values: readonly number[], numbers: readonly number[]) => number

const FUNCTIONS: Readonly<Record<string, Moving>> = {
  min: (values) => (values.length === 0 ? Number.NaN : values.reduce((a, b) => Math.min(a, b))),
  max: (values) => (values.length === 0 ? Number.NaN : values.reduce((a, b) => Math.max(a, b))),
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  unweightedAvg: mean,
  stdDev: (values) => {
    const avg = mean(values)
    return Math.sqrt(mean(values.map((value) => (value - avg) ** 2)))
  },
  linearWeightedAvg: (values) => {
    let [sum, weight] = [0, 1]
    for (const [index, value] of values.entries()) {
      sum += value * (index + 1)
      weight += index + 1
    }
    return values.length === 0 ? Number.NaN : sum / weight
  },
  ewma: (values, [alpha = 0.3]) => {
    const [first = Number.NaN, ...rest] = values
    return rest.reduce((sum, value) => value * alpha + sum * (1 - alpha), first)
  },
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

const CALL =
  /^\s*(?:return\s+)?MovingFunctions\.([a-zA-Z]+)\(\s*values\s*(?:,\s*(.*?)\s*)?\)\s*;?\s*$/
const SCRIPT_CHARS_MAX = 200

/** One of the functions of `values`; other scripts are not run. */
export function readMovingScript(value: unknown, where: string): (v: readonly number[]) => number {
  const inner = typeof value === 'object' && value !== null && 'source' in value
  const text = readText(inner ? value.source : value, `${where}.script`)
  const [, name, more] = text.length > SCRIPT_CHARS_MAX ? [] : (CALL.exec(text) ?? [])
  // The second argument of stdDev is the mean of the same values.
  const numbers = name === 'stdDev' || more === undefined ? [] : more.split(',').map(Number)
  const run = name === undefined ? undefined : movingFunction(name, numbers)
  if (run !== undefined && numbers.every(Number.isFinite)) return run
  const known = Object.keys(FUNCTIONS).join(', ')
  throw refused(`${where}.script must be MovingFunctions.NAME(values): ${known}`)
}

export function movingFunction(
  name: string,
  numbers: readonly number[],
): ((values: readonly number[]) => number) | undefined {
  const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined
  return found && ((values) => found(values, numbers))
}
