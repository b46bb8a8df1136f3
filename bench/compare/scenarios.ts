/**
 * Scripted scenarios of comparisons: incidents that are hidden in events, and changes that are
 * none. Events are made one by one, so that a test has some thousands of them and a bench millions.
 */

/** An event of a scenario; `level` and `service` are labels too. */
export interface ScriptedEvent {
  readonly level: string
  readonly service: string
  readonly [field: string]: unknown
}

/** Where an event is: in the window or before it, and how far in its range, 0 to 1. */
export interface Place {
  readonly isWindow: boolean
  readonly at: number
  /** Of all events of both ranges. */
  readonly number: number
}

export interface Scenario {
  readonly name: string
  /** Events of the window for each of the baseline. */
  readonly traffic?: number
  readonly change?: (event: ScriptedEvent, place: Place, random: () => number) => ScriptedEvent
  /** What the first finding must say; none where nothing may be found. */
  readonly expected?: readonly RegExp[]
}

const pick = <T>(values: readonly T[], random: () => number): T => {
  return values[Math.floor(random() * values.length)]!
}
const names = (prefix: string, count: number) => {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`)
}
const SERVICES = ['api', 'api', 'api', 'web', 'web', 'payments', 'search', 'cart', 'mail', 'auth']
const ROUTES = ['/cart', '/search', '/login', '/checkout', '/items', '/items', '/users', '/health']
const PODS = names('pod-', 40)
const TENANTS = names('tenant-', 300)
const REGIONS = ['eu-central', 'us-east', 'ap-south']
const LOGGERS = names('com.example.part', 25)
const FIELDS = names('extra_', 14)

/** One in so many is an error, a warning. */
const ERRORS = 0.02
const WARNINGS = 0.06

/** 30 fields; without `change` both ranges are alike. */
export function scriptedEvent(
  { change }: Scenario,
  place: Place,
  random: () => number,
): ScriptedEvent {
  const drawn = random()
  const level = drawn < ERRORS ? 'error' : drawn < WARNINGS ? 'warn' : 'info'
  const route = pick(ROUTES, random)
  const event: ScriptedEvent = {
    level,
    service: pick(SERVICES, random),
    message: `request ${place.number} done`,
    'http.route': route,
    'http.method': pick(['GET', 'GET', 'POST'], random),
    'http.status': level === 'error' ? 500 : pick([200, 200, 200, 201, 304, 404], random),
    'http.duration_ms': Math.round(10 ** (1 + 1.3 * random() + 0.3 * random()) * 10) / 10,
    'http.bytes': Math.floor(random() * 100_000),
    'k8s.pod': pick(PODS, random),
    region: pick(REGIONS, random),
    version: '1.9.2',
    // A few have many events, most have few.
    tenant: TENANTS[Math.floor(TENANTS.length * random() ** 3)],
    logger: pick(LOGGERS, random),
    trace_id: `${place.number.toString(16)}${Math.floor(random() * 2 ** 40).toString(16)}`,
    'user.id': Math.floor(random() * 90_000),
    sequence: place.number,
    // As long as a minute of an hour: none of them is in both ranges.
    minute: `${place.isWindow ? '11' : '10'}:${Math.floor(place.at * 60)}`,
    ...Object.fromEntries(FIELDS.map((name, at) => [name, `v${Math.floor(random() * (at + 2))}`])),
  }
  return change === undefined ? event : change(event, place, random)
}

const inWindow = (
  change: (event: ScriptedEvent, random: () => number, place: Place) => object | undefined,
): NonNullable<Scenario['change']> => {
  return (event, place, random) => {
    return place.isWindow ? { ...event, ...change(event, random, place) } : event
  }
}

export const INCIDENTS: readonly Scenario[] = [
  {
    name: 'one service fails',
    change: inWindow(({ service }, random) => {
      return service === 'payments' && random() < 0.5 ? { level: 'error', 'http.status': 500 } : {}
    }),
    expected: [/payments/, /error|500/],
  },
  {
    name: 'one new message',
    change: inWindow((_, random) => {
      if (random() > 0.03) return undefined
      return { 'error.type': 'PoolExhausted', message: 'no connection left in the pool' }
    }),
    expected: [/PoolExhausted|error\.type:\*|no connection left/],
  },
  {
    name: 'one pod fails',
    change: inWindow((event, random) => {
      return event['k8s.pod'] === 'pod-7' && random() < 0.8
        ? { level: 'error', 'http.status': 503 }
        : {}
    }),
    expected: [/503|error/, /k8s\.pod="pod-7"/],
  },
  {
    name: 'one route is slow',
    change: inWindow((event, random) => {
      if (event['http.route'] !== '/checkout' || random() > 0.6) return {}
      return { 'http.duration_ms': Math.round(900 + 2_000 * random()) }
    }),
    expected: [/http\.duration_ms is higher/, /http\.route="\/checkout"/],
  },
  {
    name: 'a service is silent',
    change: inWindow(({ service }) => (service === 'search' ? { service: 'api' } : {})),
    expected: [/service[:=]"?search"? is gone/],
  },
  {
    name: 'a new version',
    change: inWindow((_, random) => (random() < 0.4 ? { version: '2.0.0' } : {})),
    expected: [/^version="2\.0\.0" is new/],
  },
  {
    name: 'one tenant floods',
    traffic: 1.2,
    change: inWindow((_, random) => (random() < 0.17 ? { tenant: 'tenant-200' } : {})),
    expected: [/^tenant="tenant-200" is/],
  },
  {
    name: 'everything is slower',
    change: inWindow((event) => ({ 'http.duration_ms': 3 * Number(event['http.duration_ms']) })),
    expected: [/^http\.duration_ms is higher/],
  },
  {
    name: 'a field that was not there',
    change: inWindow((_, random) =>
      random() < 0.05 ? { retry_after: pick([1, 2, 5], random) } : {},
    ),
    expected: [/retry_after:\*/],
  },
  {
    name: 'warnings in one region, while traffic doubles',
    traffic: 2,
    change: inWindow((event, random) => {
      return event.region === 'ap-south' && random() < 0.4 ? { level: 'warn' } : {}
    }),
    expected: [/warn/, /ap-south/],
  },
]

export const NOTHING: readonly Scenario[] = [
  { name: 'the same' },
  { name: 'three times the traffic', traffic: 3 },
  { name: 'a third of the traffic', traffic: 0.33 },
  {
    name: 'night: users sleep, a batch does not',
    traffic: 0.4,
    change: (event, { isWindow }, random) => {
      return random() < (isWindow ? 0.25 : 0.1) ? { ...event, service: 'batch' } : event
    },
  },
  {
    name: 'day: users come, a batch is as before',
    traffic: 2.5,
    change: (event, { isWindow }, random) => {
      return random() < (isWindow ? 0.08 : 0.2) ? { ...event, service: 'batch' } : event
    },
  },
  {
    name: 'a job that runs at times',
    change: (event, { at, isWindow }, random) => {
      const runs = isWindow ? [0.1, 0.35, 0.8] : [0.5, 0.9]
      const isRunning = runs.some((start) => at >= start && at < start + 0.06)
      return isRunning && random() < 0.4 ? { ...event, service: 'reports', job: 'nightly' } : event
    },
  },
  {
    name: 'ever new values',
    change: (event, { number }) => ({ ...event, container: `c${Math.floor(number / 25)}` }),
  },
  {
    name: 'a mix that drifts',
    change: (event, { isWindow }, random) => {
      return random() < (isWindow ? 0.25 : 0.2) ? { ...event, region: 'eu-west' } : event
    },
  },
  {
    name: 'numbers that only rise',
    traffic: 1.1,
    change: (event, { number }) => ({ ...event, offset: 1_000_000 + number * 17 }),
  },
  {
    name: 'rare values that come and go',
    change: (event, _, random) => {
      return random() < 0.02 ? { ...event, 'error.type': `E${Math.floor(random() * 60)}` } : event
    },
  },
]
