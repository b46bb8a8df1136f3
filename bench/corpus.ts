/**
 * The corpus every figure is measured on: generated service logs, 640 B of JSON an event on
 * average and 22 leaf paths, or plain access-log lines of 230 B on average.
 *
 * Its entropy is tuned to real service logs: brotli quality 1 makes 330 KB of it about 5.3 times
 * smaller (`test/bench/corpus.test.ts` holds it there). Constant or random data would flatter or
 * punish compression and the stores. The same seed gives the same bytes everywhere.
 */
import { readFileSync } from 'node:fs'
import {
  LEVELS,
  MESSAGES,
  METHODS,
  REFERERS,
  REGIONS,
  ROUTES,
  SERVICES,
  STATUSES,
  TAGS,
  TIERS,
  USER_AGENTS,
  VIRTUAL_HOSTS,
} from './corpus-words.ts'
import { Random } from './random.ts'

export const CORPUS_SEED = 20_251_121
export const CORPUS_KINDS = ['json', 'text'] as const
export type CorpusKind = (typeof CORPUS_KINDS)[number]

export interface CorpusOptions {
  readonly kind: CorpusKind
  readonly count: number
  readonly seed?: number
  /** Lines of this file, repeated up to `count`, instead of generated ones. */
  readonly file?: string | undefined
}

/** Lines without their newline. */
export function loadCorpus(options: CorpusOptions): string[] {
  if (options.file !== undefined) return repeatLines(readLines(options.file), options.count)
  const seed = options.seed ?? CORPUS_SEED
  return options.kind === 'json'
    ? generateJsonLines(options.count, seed)
    : generateTextLines(options.count, seed)
}

/** The lines as one body, each ended by a newline. */
export function joinLines(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`)
}

const EPOCH_MS = Date.UTC(2025, 10, 21, 10)
const HOSTS_PER_SERVICE = 8
const CLIENTS = 20_000

interface Fleet {
  readonly hosts: readonly { service: string; host: string; region: string; version: string }[]
  readonly clients: readonly { ip: string; userId: number; tier: string; userAgent: string }[]
}

/** Hosts and clients come back, as they do in reality: that is what makes logs compress. */
function createFleet(random: Random): Fleet {
  const hosts = SERVICES.flatMap((service) => {
    const version = `${1 + random.below(4)}.${random.below(30)}.${random.below(10)}`
    const replicaSet = random.hex(9)
    return Array.from({ length: HOSTS_PER_SERVICE }, () => ({
      service,
      host: `${service}-${replicaSet}-${random.hex(5)}`,
      region: random.pick(REGIONS),
      version,
    }))
  })
  const clients = Array.from({ length: CLIENTS }, () => ({
    ip: `${11 + random.below(200)}.${random.below(256)}.${random.below(256)}.${random.below(256)}`,
    userId: 100_000 + random.below(900_000),
    tier: random.pick(TIERS),
    userAgent: fillTemplate(random.pick(USER_AGENTS), random),
  }))
  return { hosts, clients }
}

function fillTemplate(template: string, random: Random): string {
  return template.replace(/[#$%]/g, (mark) => {
    if (mark === '$') return random.hex(8)
    if (mark === '%') return random.skewed(40, 1).toFixed(2)
    return String(Math.ceil(random.skewed(120, 2)))
  })
}

function generateJsonLines(count: number, seed: number): string[] {
  const random = new Random(seed)
  const fleet = createFleet(random)
  const lines: string[] = []
  let atMs = EPOCH_MS
  for (let i = 0; i < count; i++) {
    atMs += random.below(5)
    lines.push(JSON.stringify(generateEvent(random, fleet, atMs)))
  }
  return lines
}

/** 22 leaf paths; two of them are missing now and then, so that there is more than one shape. */
function generateEvent(random: Random, fleet: Fleet, atMs: number): object {
  const { service, host, region, version } = random.pick(fleet.hosts)
  const client = random.pick(fleet.clients)
  const hasUser = random.chance(0.92)
  const hasReferer = random.chance(0.7)
  return {
    timestamp: new Date(atMs).toISOString(),
    level: random.pick(LEVELS),
    service,
    host,
    region,
    version,
    message: fillTemplate(random.pick(MESSAGES), random),
    trace: { trace_id: random.hex(32), span_id: random.hex(16), sampled: random.chance(0.1) },
    http: {
      method: random.pick(METHODS),
      url: fillTemplate(random.pick(ROUTES), random),
      status: random.pickSkewed(STATUSES),
      duration_ms: Number(random.skewed(18, 1.2).toFixed(3)),
      bytes: Math.round(random.skewed(2_400, 1.5)),
      user_agent: client.userAgent,
      ...(hasReferer ? { referer: fillTemplate(random.pickSkewed(REFERERS), random) } : {}),
      ip: client.ip,
    },
    user: { ...(hasUser ? { id: client.userId } : {}), tier: client.tier },
    cached: random.chance(0.7),
    tags: Array.from({ length: 1 + random.below(3) }, () => random.pick(TAGS)),
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The combined log format of web servers. */
function generateTextLines(count: number, seed: number): string[] {
  const random = new Random(seed)
  const { clients } = createFleet(random)
  const lines: string[] = []
  let atMs = EPOCH_MS
  for (let i = 0; i < count; i++) {
    atMs += random.below(40)
    const client = random.pickSkewed(clients)
    const request = `${random.pick(METHODS)} ${fillTemplate(random.pickSkewed(ROUTES), random)}`
    const sizes = `${random.pickSkewed(STATUSES)} ${Math.round(random.skewed(2_400, 1.5))}`
    const referer = random.chance(0.97) ? fillTemplate(random.pickSkewed(REFERERS), random) : '-'
    lines.push(
      `${client.ip} - - [${formatClfTime(atMs)}] "${request} HTTP/1.1" ${sizes} ` +
        `"${referer}" "${client.userAgent}" ${random.pick(VIRTUAL_HOSTS)} ` +
        `${Math.ceil(random.skewed(18_000, 1.2))}`,
    )
  }
  return lines
}

function formatClfTime(atMs: number): string {
  const [date, time] = new Date(atMs).toISOString().split('T') as [string, string]
  const [year, month, day] = date.split('-') as [string, string, string]
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`
}

function readLines(file: string): string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const nonEmpty = lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '')
  if (nonEmpty.length === 0) throw new Error(`corpus ${file} holds no lines`)
  return nonEmpty
}

function repeatLines(lines: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, i) => lines[i % lines.length]!)
}
