/**
 * The modules of `load-tests/` for tests: plain JavaScript, as k6 runs them. Those that import k6
 * find a stand-in, which books what they count and answers what a test says.
 */
import { register } from 'node:module'

export const LOAD_TESTS = new URL('../../../load-tests/', import.meta.url)
export const RUNNER = new URL('../../../scripts/load.mjs', import.meta.url)

export type Options = Readonly<Record<string, string | number | boolean | readonly string[]>>

export interface Scenario {
  readonly sentence: string
  readonly defaults: Readonly<Record<string, string>>
}

interface OptionsModule {
  readonly OPTIONS: readonly { env: string; kind: string; sentence: string; flag?: string }[]
  defaultOf(scenario: string, env: string): string
  readOptions(environment: Readonly<Record<string, string>>, scenario: string): Options
  bodiesOf(options: Options): { surface: string; eventCount: number }[]
}

interface BodiesModule {
  fileOf(surface: string, eventCount: number): string
  takeBodies(file: ArrayBuffer, eventCount: number, user: number): ArrayBuffer[]
}

interface MakeBodiesModule {
  readonly MAKERS: Readonly<Record<string, (lines: readonly string[]) => Uint8Array>>
  encodeBodies(lines: readonly string[], surface: string, eventCount: number): Uint8Array
}

interface SurfacesModule {
  readonly SURFACES: Readonly<Record<string, { readonly path: string }>>
  tryReadRejected(bytes: Uint8Array): number
}

interface SummaryModule {
  summarize(data: object, name: string, parts: readonly string[]): object
  formatSummary(summary: object): string
}

export interface K6Answer {
  readonly status: number
  readonly body?: string | ArrayBuffer | null
  readonly headers?: Readonly<Record<string, string>>
  readonly error?: string
}

interface SendModule {
  send(surface: string, body: object, stream: object, options: Options, data: object): number
}

interface MetricsModule {
  readonly metrics: Readonly<Record<string, { readonly name: string }>>
}

/** What k6 is to the modules under test. */
export interface FakeK6 {
  post(url: string, body: ArrayBuffer, settings: { headers: Record<string, string> }): K6Answer
  get(url: string): K6Answer
  request(method: string, url: string, body: string | null): K6Answer
  sleep(seconds: number): void
  add(metric: string, value: number, tags?: Readonly<Record<string, string>>): void
}

const STAND_INS = {
  k6: 'export const sleep = (seconds) => globalThis.fakeK6.sleep(seconds)',
  'k6/encoding': 'export default { b64encode: (text) => btoa(text) }',
  'k6/execution': `export default {
    test: { abort: (message) => { throw new Error('aborted: ' + message) } },
    scenario: { get name() { return globalThis.__SCENARIO } },
  }`,
  'k6/http': `const answer = (name) => (...args) => ({
    body: null, headers: {}, error: '', timings: { duration: 5 },
    json() { return JSON.parse(this.body) },
    ...globalThis.fakeK6[name](...args),
  })
  export default { post: answer('post'), get: answer('get'), request: answer('request') }`,
  'k6/metrics': `class Metric {
    constructor(name) { this.name = name }
    add(value, tags) { globalThis.fakeK6.add(this.name, value, tags) }
  }
  export { Metric as Counter, Metric as Gauge, Metric as Rate, Metric as Trend }`,
}

const LOADER = `const standIns = ${JSON.stringify(STAND_INS)}
export function resolve(specifier, context, next) {
  const source = standIns[specifier]
  if (source === undefined) return next(specifier, context)
  const url = 'data:text/javascript,' + encodeURIComponent(source)
  return { url, format: 'module', shortCircuit: true }
}`

/** What k6 gives a script as globals; set before a scenario is loaded. */
export const k6Globals = globalThis as unknown as {
  fakeK6: FakeK6
  __ENV: Readonly<Record<string, string>>
  __VU: number
  __ITER: number
  /** What `k6/execution` says that runs. */
  __SCENARIO: string
  open(path: string): ArrayBuffer
}

export function standInForK6(): void {
  register(`data:text/javascript,${encodeURIComponent(LOADER)}`)
}

export async function load<Module>(path: string): Promise<Module> {
  return (await import(new URL(path, LOAD_TESTS).href)) as Module
}

export const loadOptions = () => load<OptionsModule>('options.mjs')
export const loadScenarios = () =>
  load<{ SCENARIOS: Readonly<Record<string, Scenario>> }>('scenarios.mjs')
export const loadBodies = () => load<BodiesModule>('support/bodies.mjs')
export const loadMakeBodies = () => load<MakeBodiesModule>('support/make-bodies.mjs')
export const loadSurfaces = () => load<SurfacesModule>('support/surfaces.mjs')
export const loadSummary = () => load<SummaryModule>('support/summary.mjs')
export const loadSend = () => load<SendModule>('support/send.mjs')
export const loadMetrics = () => load<MetricsModule>('support/metrics.mjs')
