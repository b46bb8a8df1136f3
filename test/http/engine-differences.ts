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
  /** What it comes to. */
  readonly outcome: Readonly<Record<EngineKind, Outcome>>
}

const LONG = head('GET', '/seen', `X: ${'x'.repeat(5_000)}`)
const VERY_LONG = head('GET', '/seen', `X: ${'x'.repeat(17_000)}`)
const LINES = Array.from({ length: 120 }, (_, i) => `X${i}: 1`)
const CHUNKED = 'Transfer-Encoding: chunked'
const LATER = `${head('POST', '/later', 'Content-Length: 1')}a`

/** Heads are written as Latin-1. */
export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'a header value of bytes from 0x80 on; such bytes at either end of one',
    shown: { newer: 'empty; dropped', older: 'empty; dropped', node: 'kept, as Latin-1' },
    pieces: [head('GET', '/seen', 'X-Sent: \xc3\xa9')],
    outcome: { newer: '400', older: '400', node: '200' }, // The route refuses an empty value.
  },
  {
    what: 'such bytes behind a `Content-Length`',
    shown: { newer: 'dropped', older: 'dropped', node: '400' },
    pieces: [`${head('POST', '/echo', 'Content-Length: 2\xff')}ab`],
    outcome: { newer: '200', older: '200', node: `400 ${CLOSED}` },
  },
  {
    what: '`Content-Length` beside `Transfer-Encoding`',
    shown: { newer: '400', older: 'closed', node: '400' },
    pieces: [`${head('POST', '/echo', 'Content-Length: 2', CHUNKED)}0\r\n\r\n`],
    outcome: { newer: `400 ${CLOSED}`, older: CLOSED, node: `400 ${CLOSED}` },
  },
  {
    what: 'a head of over 4 KiB in pieces (in one it is taken; `HEAD_BYTES_MAX`)',
    shown: {
      newer: 'taken to 16 KiB',
      older: 'closed',
      node: 'taken to 16 KiB',
    },
    pieces: [LONG.slice(0, 100), LONG.slice(100)],
    outcome: { newer: '200', older: CLOSED, node: '200' },
  },
  {
    what: 'a head of over 16 KiB in one',
    shown: { newer: '431', older: 'taken', node: '431' },
    pieces: [VERY_LONG],
    outcome: { newer: `431 ${CLOSED}`, older: '200', node: `431 ${CLOSED}` },
  },
  {
    what: 'more than about 45 header lines: let the proxy remove some',
    shown: { newer: 'taken to about 95, then 431', older: 'no answer', node: 'taken' },
    pieces: [head('GET', '/seen', 'X-Sent: 1', ...LINES)],
    outcome: { newer: `431 ${CLOSED}`, older: NO_ANSWER, node: '200' },
  },
  {
    what: 'HTTP/1.0, as nginx speaks to upstreams unless told otherwise: the lines below',
    shown: { newer: '505', older: 'no answer', node: 'taken' },
    pieces: ['GET /seen HTTP/1.0\r\nHost: x\r\nX-Sent: 1\r\n\r\n'],
    outcome: { newer: `505 ${CLOSED}`, older: NO_ANSWER, node: `200 ${CLOSED}` },
  },
  {
    what: 'chunk extensions (`5;name=value`), which no client known sends',
    shown: { newer: 'no answer', older: 'no answer', node: 'taken' },
    pieces: [`${head('POST', '/echo', CHUNKED)}5;a=b\r\nhello\r\n0\r\n\r\n`],
    outcome: { newer: NO_ANSWER, older: NO_ANSWER, node: '200' },
  },
  {
    what: 'trailers behind a chunked body: do not send them',
    shown: { newer: '505, but the body may be stored', older: 'taken', node: 'taken' },
    pieces: [`${head('POST', '/later', CHUNKED)}5\r\nhello\r\n0\r\nX: 1\r\n\r\n`],
    outcome: { newer: `505 ${CLOSED}`, older: '200', node: '200' },
  },
  {
    what: 'POSTs pipelined on one connection: wait for the answer',
    shown: {
      newer: 'closed; the first may be stored',
      older: 'closed; the first may be stored',
      node: 'answered in order',
    },
    pieces: [LATER + LATER],
    outcome: { newer: CLOSED, older: CLOSED, node: '200 200' },
  },
  {
    what: 'a `Content-Length` that is no number',
    shown: { newer: '400', older: 'closed', node: '400' },
    pieces: [head('POST', '/echo', 'Content-Length: x')],
    outcome: { newer: `400 ${CLOSED}`, older: CLOSED, node: `400 ${CLOSED}` },
  },
  {
    what: 'a `Content-Length` of 1,000,000,000 or more',
    shown: { newer: '413', older: 'closed', node: '413' },
    pieces: [head('POST', '/sized', 'Content-Length: 1000000000')],
    outcome: { newer: '413', older: CLOSED, node: '413' },
  },
  {
    what: 'what is no HTTP',
    shown: { newer: '505, or no answer', older: 'no answer', node: '400' },
    pieces: ['hello\r\n\r\n'],
    outcome: { newer: NO_ANSWER, older: NO_ANSWER, node: `400 ${CLOSED}` },
  },
  {
    what: 'no `Host`',
    shown: { newer: '400', older: 'closed', node: '400' },
    pieces: ['GET /seen HTTP/1.1\r\nX: y\r\n\r\n'],
    outcome: { newer: `400 ${CLOSED}`, older: CLOSED, node: `400 ${CLOSED}` },
  },
  {
    what: 'a path given as a URL (`GET http://host/path`)',
    shown: { newer: '505', older: 'no answer', node: 'closed' },
    pieces: ['GET http://x/seen HTTP/1.1\r\nHost: x\r\n\r\n'],
    outcome: { newer: `505 ${CLOSED}`, older: NO_ANSWER, node: CLOSED },
  },
]
