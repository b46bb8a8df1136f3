/**
 * The corpus as reads are measured on: its lines with what the rows ask for beyond it (a namespace,
 * types of errors, a word that is rare, and ten times as many addresses and users).
 */
import { loadCorpus } from '../corpus.ts'
import { Random } from '../random.ts'

export const RARE_WORD = 'quetzal'
/** Of an event that the corpus has for certain, so that it can be looked for by it. */
export const KNOWN_TRACE_ID = '5f2c0d9a81e74b36a0c4d1e8b7f39a62'

const SEED = 20_261_123
const NAMESPACES = 24
const ADDRESSES = 65_000
const USERS = 95_000
/** One event in so many says the rare word. */
const RARE = 20_000
const ERROR_TYPES = ['Timeout', 'ConnectionReset', 'CardDeclined', 'OutOfStock', 'NotFound']

interface Event {
  readonly level: string
  readonly message: string
  readonly http: object
  readonly user: { readonly id?: number }
  readonly trace: object
}

/** Lines of JSON. */
export function queryCorpus(count: number): string[] {
  const random = new Random(SEED)
  const lines = loadCorpus({ kind: 'json', count, seed: SEED })
  return lines.map((line, index) => extend(JSON.parse(line) as Event, index, random))
}

function extend(event: Event, index: number, random: Random): string {
  const { level, message, http, user, trace } = event
  const address = random.below(ADDRESSES)
  const ip = `${11 + (address % 200)}.${(address >> 8) & 255}.${address & 255}.7`
  const errorType = random.pick(ERROR_TYPES)
  return JSON.stringify({
    ...event,
    k8s: { namespace: `team-${random.below(NAMESPACES)}` },
    ...(level === 'error' ? { error: { type: errorType } } : {}),
    message: index % RARE === 7 ? `${message}, ${RARE_WORD} seen` : message,
    http: { ...http, ip },
    user: user.id === undefined ? user : { ...user, id: 100_000 + random.below(USERS) },
    trace: index === 11 ? { ...trace, trace_id: KNOWN_TRACE_ID } : trace,
  })
}
