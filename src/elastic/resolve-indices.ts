/**
 * An index is a stream: by its name or id, with `*`, exclusions, and the date that names of indices
 * end in. Only streams that the token may read are found; others do not exist.
 */
import { IngestError } from '../errors.ts'
import { READ_STREAMS_MAX } from '../limits.ts'
import type { Principal, Stream } from '../model/stream.ts'
import { listVisibleStreams, type StreamSource } from '../read/find-streams.ts'
import { refused, shown } from './members.ts'

export interface IndexOptions {
  /** Names of no stream are passed over. */
  readonly ignoresUnknown: boolean
}

const EXPRESSION_CHARS_MAX = 4_096
const PARTS_MAX = 1_000
const ALL = ['', '*', '_all']
/** `-2026.11.29`, `-2026.11`, `-2026`, with dots or hyphens; and a rollover's number. */
const DATE = /[-_.]\d{4}(?:[.\-_]\d{2}){0,3}(?:-\d{6})?$/

/** The streams of one principal, listed once for a request. */
export class Indices {
  readonly #source: StreamSource
  readonly #principal: Principal
  #listed: Promise<readonly Stream[]> | undefined

  constructor(source: StreamSource, principal: Principal) {
    this.#source = source
    this.#principal = principal
  }

  /** In the order of their ids. Throws `index_not_found_exception`. */
  async resolve(expression: string, { ignoresUnknown }: IndexOptions): Promise<readonly Stream[]> {
    if (expression.length > EXPRESSION_CHARS_MAX) {
      throw refused(`the index has over ${EXPRESSION_CHARS_MAX} characters`)
    }
    const all = await this.#list()
    const parts = expression.split(',').map((part) => part.trim())
    if (parts.length > PARTS_MAX) throw refused(`the index names over ${PARTS_MAX} streams`)
    const found = new Set<Stream>()
    for (const [index, part] of parts.entries()) {
      if (ALL.includes(part) && (part !== '' || parts.length === 1)) {
        for (const stream of all) found.add(stream)
      } else if (part.startsWith('-') && index > 0) {
        for (const stream of matching(all, part.slice(1))) found.delete(stream)
      } else if (part !== '') {
        const some = matching(all, part)
        if (some.length === 0 && !part.includes('*') && !ignoresUnknown) throw notFound(part)
        for (const stream of some) found.add(stream)
      }
    }
    if (found.size > READ_STREAMS_MAX) {
      const limit = `${READ_STREAMS_MAX} (READ_STREAMS_MAX)`
      throw refused(`the index is over ${limit} streams; name those you mean`)
    }
    return all.filter((stream) => found.has(stream))
  }

  #list(): Promise<readonly Stream[]> {
    this.#listed ??= listAll(this.#source, this.#principal)
    return this.#listed
  }
}

/** Pages of all that a token sees. */
const PAGES_MAX = 20

async function listAll(source: StreamSource, principal: Principal): Promise<readonly Stream[]> {
  const all: Stream[] = []
  for (let page = 0; page < PAGES_MAX; page++) {
    const after = all.at(-1)?.streamId ?? 0
    const some = await listVisibleStreams(source, principal, { after, limit: READ_STREAMS_MAX })
    all.push(...some)
    if (some.length < READ_STREAMS_MAX) return all
  }
  throw refused(`the token sees over ${PAGES_MAX * READ_STREAMS_MAX} streams: limit it to some`)
}

function matching(all: readonly Stream[], part: string): readonly Stream[] {
  if (part.includes('*') || part.includes('?')) {
    return all.filter(({ name }) => matches(name, part))
  }
  const of = (text: string) => {
    const named = all.filter(({ name }) => name === text)
    return named.length > 0 ? named : all.filter(({ streamId }) => String(streamId) === text)
  }
  const exact = of(part)
  return exact.length > 0 || !DATE.test(part) ? exact : of(part.replace(DATE, ''))
}

/** `*` is any text, `?` one character. Linear in both but for one step back to the last `*`. */
function matches(name: string, pattern: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0]
  while (at < name.length) {
    const char = pattern[from]
    if (char === '*') {
      star = from++
      mark = at
    } else if (char === '?' || char === name[at]) {
      at++
      from++
    } else if (star >= 0) {
      from = star + 1
      at = ++mark
    } else {
      return false
    }
  }
  while (pattern[from] === '*') from++
  return from === pattern.length
}

function notFound(name: string): IngestError {
  const type = 'index_not_found_exception'
  return new IngestError('not_found', `no such index [${shown(name).slice(1, -1)}]`, {
    members: { type },
  })
}
