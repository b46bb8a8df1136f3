/** What one end-to-end run does, and the presets that make up the table of `--all`. */
import type { TransformChoice } from './rest.ts'

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly surface: string
  readonly connections: number
  readonly eventsPerRequest: number
  readonly seconds: number
  /** 20 by default: V8 compiles what runs once a batch until then, 0.5 µs an event at first. */
  readonly warmUpSeconds: number
  /** Sending ends earlier when so many events are acknowledged or in flight. */
  readonly eventsMax: number
  /** Events a second, 0 for full load. */
  readonly rate: number
  readonly isGzip: boolean
  readonly streams: number
  readonly transforms: TransformChoice
  readonly distinctEvents: number
  readonly corpusFile: string | undefined
  /** What `performance.md` promises for it; absent bounds are not judged. */
  readonly target: ScenarioTarget
}

export interface ScenarioTarget {
  /** Of all processes until no merge is due, as a multiple of an idle `JSON.parse`. */
  readonly timesJsonParseMax?: number
  readonly eventsPerSecondMin?: number
  readonly acknowledgeP99MsMax?: number
  readonly nodeBytesMax?: number
  readonly allBytesMax?: number
  readonly rawBytesPerEventMax?: number
  readonly projectionBytesPerEventMax?: number
}

const MIB = 1024 * 1024
/** Bounds of memory for every scenario: they may not depend on the load. */
const MEMORY = { nodeBytesMax: 400 * MIB, allBytesMax: 1.2 * 1024 * MIB }

export const DEFAULT_SCENARIO: Scenario = {
  name: 'custom',
  title: 'as given on the command line',
  surface: 'json',
  connections: 4,
  eventsPerRequest: 1_000,
  seconds: 20,
  warmUpSeconds: 20,
  eventsMax: Number.MAX_SAFE_INTEGER,
  rate: 0,
  isGzip: false,
  streams: 1,
  transforms: {},
  distinctEvents: 40_000,
  corpusFile: undefined,
  target: {},
}

const JSON_DISK = { rawBytesPerEventMax: 115, projectionBytesPerEventMax: 180 }

export const PRESETS: readonly Scenario[] = [
  {
    ...DEFAULT_SCENARIO,
    name: 'json',
    title: 'JSON lines',
    target: {
      timesJsonParseMax: 3.5,
      eventsPerSecondMin: 250_000,
      ...MEMORY,
      ...JSON_DISK,
    },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'json-transforms',
    title: 'JSON lines, redaction + user agents',
    transforms: { redact_sensitive: true, parse_user_agents: true },
    target: {
      eventsPerSecondMin: 200_000,
      ...MEMORY,
    },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'json-gzip',
    title: 'JSON lines, gzip',
    isGzip: true,
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'text',
    title: 'plain text, 230 B lines',
    surface: 'text',
    target: {
      timesJsonParseMax: 2,
      eventsPerSecondMin: 350_000,
      ...MEMORY,
    },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'bulk',
    title: '_bulk',
    surface: 'bulk',
    target: {
      timesJsonParseMax: 4.2,
      eventsPerSecondMin: 220_000,
      ...MEMORY,
      ...JSON_DISK,
    },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'bulk-gzip',
    title: '_bulk, gzip',
    surface: 'bulk',
    isGzip: true,
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'otlp',
    title: 'OTLP protobuf, kvlist bodies',
    surface: 'otlp',
    target: {
      timesJsonParseMax: 4.2,
      eventsPerSecondMin: 190_000,
      ...MEMORY,
    },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'otlp-gzip',
    title: 'OTLP protobuf, kvlist bodies, gzip',
    surface: 'otlp',
    isGzip: true,
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'otlp-grpc',
    title: 'OTLP over gRPC, kvlist bodies',
    surface: 'otlp-grpc',
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'loki',
    title: 'Loki JSON, lines of JSON, extracted',
    surface: 'loki',
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'loki-protobuf',
    title: 'Loki protobuf, lines of JSON, extracted',
    surface: 'loki-protobuf',
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'hec',
    title: 'Splunk HEC, objects in envelopes',
    surface: 'hec',
    target: MEMORY,
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'single',
    title: '1 event a request, 256 connections',
    connections: 256,
    eventsPerRequest: 1,
    target: { eventsPerSecondMin: 20_000, ...MEMORY },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'tenth',
    title: 'JSON lines, a tenth of full load',
    rate: 25_000,
    target: { acknowledgeP99MsMax: 20, ...MEMORY },
  },
  {
    ...DEFAULT_SCENARIO,
    name: 'overload',
    title: 'JSON lines, 256 connections',
    connections: 256,
    target: MEMORY,
  },
]

export function findPreset(name: string): Scenario {
  const preset = PRESETS.find((candidate) => candidate.name === name)
  if (preset !== undefined) return preset
  throw new Error(`no scenario ${name}; there are ${PRESETS.map((p) => p.name).join(', ')}`)
}
