/**
 * Where the HTTP engines differ, in one place: what each does with a request, and the rows of the
 * table in docs/operations.md. What is not here must be the same on all of them.
 */
import type { Engine } from '../../src/http/engine.ts'
import { head } from './raw-client.ts'

export type EngineKind = 'newer' | 'older' | 'node'

export function kindOf(engine: Engine): EngineKind {
  if (engine.name === 'node:http') return 'node'
  return engine.version.startsWith('20.30.') ? 'older' : 'newer'
}

/** What comes back: the status codes, and whether the connection was closed. */
export type Outcome = string
const CLOSED = 'closed'
const NO_ANSWER = ''

export interface Difference {
  /** The first cell of its row. */
  readonly what: string
  /** The other cells. */
  readonly shown: Readonly<Record<EngineKind, string>>
  /** Written with a pause after each. */
  readonly pieces: readonly string[]
  /** What it comes to; the newer one is judged where it loads and the outcome is known. */
  readonly outcome: Readonly<Record<'older' | 'node', Outcome>> & { readonly newer?: Outcome }
}

const LONG = head('GET', '/seen', `X: ${'x'.repeat(5_000)}`)
const LINES = Array.from({ length: 60 }, (_, i) => `X${i}: 1`)
const CHUNKED = 'Transfer-Encoding: chunked'

/** Heads are written as Latin-1. */
export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'a header value of bytes from 0x80 on; such bytes at either end of one',
    shown: { newer: 'kept', older: 'empty; dropped', node: 'kept, as Latin-1' },
    pieces: [head('GET', '/seen', 'X-Sent: \xc3\xa9')],
    outcome: { older: '400', node: '200' }, // The route refuses an empty value.
  },
  {
    what: 'such bytes behind a `Content-Length`',
    shown: { newer: '400', older: 'dropped', node: '400' },
    pieces: [`${head('POST', '/echo', 'Content-Length: 2\xff')}ab`],
    outcome: { older: '200', node: `400 ${CLOSED}` },
  },
  {
    what: '`Content-Length` beside `Transfer-Encoding`',
    shown: { newer: '400', older: 'closed', node: '400' },
    pieces: [`${head('POST', '/echo', 'Content-Length: 2', CHUNKED)}0\r\n\r\n`],
    outcome: { older: CLOSED, node: `400 ${CLOSED}` },
  },
  {
    what: 'a head of over 4 KiB in pieces (in one it is taken; `HEAD_BYTES_MAX`)',
    shown: {
      newer: 'taken to 16 KiB',
      older: 'closed',
      node: 'taken to 16 KiB',
    },
    pieces: [LONG.slice(0, 100), LONG.slice(100)],
    outcome: { older: CLOSED, node: '200' },
  },
  {
    what: 'more than about 50 header lines: let the proxy remove some',
    shown: { newer: '431', older: 'no answer', node: 'taken' },
    pieces: [head('GET', '/seen', 'X-Sent: 1', ...LINES)],
    outcome: { older: NO_ANSWER, node: '200' },
  },
  {
    what: 'HTTP/1.0, as nginx speaks to upstreams unless told otherwise: the lines below',
    shown: { newer: '505', older: 'no answer', node: 'taken' },
    pieces: ['GET /seen HTTP/1.0\r\nHost: x\r\nX-Sent: 1\r\n\r\n'],
    outcome: { older: NO_ANSWER, node: `200 ${CLOSED}` },
  },
  {
    what: 'chunk extensions (`5;name=value`), which no client known sends',
    shown: { newer: 'not known', older: 'no answer', node: 'taken' },
    pieces: [`${head('POST', '/echo', CHUNKED)}5;a=b\r\nhello\r\n0\r\n\r\n`],
    outcome: { older: NO_ANSWER, node: '200' },
  },
  {
    what: 'a `Content-Length` that is no number, or is 1,000,000,000 or more',
    shown: { newer: '400', older: 'closed', node: '400 (a large one: 413)' },
    pieces: [head('POST', '/echo', 'Content-Length: x')],
    outcome: { older: CLOSED, node: `400 ${CLOSED}` },
  },
  {
    what: 'what is no HTTP, or has no `Host`',
    shown: { newer: '400', older: 'no answer', node: '400' },
    pieces: ['hello\r\n\r\n'],
    outcome: { older: NO_ANSWER, node: `400 ${CLOSED}` },
  },
]
