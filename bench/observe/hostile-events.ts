/** Events of a client that never sends the same key, or never the same shape, twice. */

export interface HostileLoad {
  readonly name: string
  readonly events: number
  /** The n-th event. */
  event(n: number): string
}

const KEYS_AN_EVENT = 10
/** So many keys make all the shapes: two of them at a time, each pair once. */
const SHAPE_KEYS = 500

/** `count` distinct keys, each in one event, and others in each round. */
export function distinctKeys(count: number, round = 0): HostileLoad {
  return {
    name: `${count} distinct keys`,
    events: Math.ceil(count / KEYS_AN_EVENT),
    event: (n) => {
      const keys = Array.from({ length: KEYS_AN_EVENT }, (_, k) => {
        return `"key-${round}-${n * KEYS_AN_EVENT + k}":"value of ${k}"`
      })
      return `{${keys.join(',')}}`
    },
  }
}

/** `count` distinct shapes of few keys: the types of ten of them, and two of SHAPE_KEYS. */
export function distinctShapes(count: number, round = 0): HostileLoad {
  const values = ['1', '"x"']
  return {
    name: `${count} distinct shapes`,
    events: count,
    event: (n) => {
      const key = n % SHAPE_KEYS
      let rest = Math.floor(n / SHAPE_KEYS)
      const fields = [`"s${round}-${key}":1`]
      for (let bit = 0; bit < 10; bit++) {
        fields.push(`"b${bit}":${values[rest % 2]}`)
        rest = Math.floor(rest / 2)
      }
      return `{${fields.join(',')}}`
    },
  }
}

/** The event of a stream beside it, always of one shape. */
export const NEIGHBOUR_EVENT =
  '{"level":"info","service":{"name":"checkout"},"message":"order placed","took_ms":12}'

/** To compare with: as many events as of `distinctKeys`, and as large, all of one shape. */
export function ordinary(keys: number): HostileLoad {
  const event = distinctKeys(KEYS_AN_EVENT).event(0).replaceAll('"key-0-', '"key-0-00000')
  const events = Math.ceil(keys / KEYS_AN_EVENT)
  return { name: `${events} ordinary events`, events, event: () => event }
}
