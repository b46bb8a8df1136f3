/**
 * `/console/`: the page and its files. Nobody needs a credential for them, as they hold no data.
 *
 * The page may be behind a proxy under a path of its own, so it names everything relative to
 * itself. Files whose names change with their content are kept by browsers for ever. The page, by
 * either of its addresses, and whatever else has a lasting name is asked for each time, by its tag.
 */
import type { RouteDescription } from '../api/route-description.ts'
import { IngestError } from '../errors.ts'
import type { Exchange, Route } from '../http/exchange.ts'
import { problemReply } from '../http/problem.ts'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

export const PAGE = 'index.html'

/**
 * No script, style or connection but the page's own; nobody may put the page into a frame. So log
 * content that became HTML by a mistake of ours could still do nothing.
 */
const SECURITY_HEADERS = [
  [
    'Content-Security-Policy',
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; " +
      "frame-ancestors 'none'",
  ],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const
const CACHED = 'public, max-age=31536000, immutable'
const ASKED_EACH_TIME = 'no-cache'

const UNCHANGED = { description: 'As the client has it: `If-None-Match` names its `ETag`' }
const DESCRIBED = { tag: 'Console', credential: 'none' } as const

export function consoleRoutes(files: ConsoleFiles): Route[] {
  return [
    {
      method: 'GET',
      pattern: '/console',
      description: {
        ...DESCRIBED,
        operationId: 'redirectToConsole',
        summary: 'Where the console is',
        answers: { 308: { description: 'To `/console/`' } },
      },
      // Relative, for proxies that add a path.
      handler: (exchange) => exchange.reply({ status: 308, headers: [['Location', 'console/']] }),
    },
    {
      method: 'GET',
      pattern: '/console/',
      description: {
        ...DESCRIBED,
        operationId: 'getConsole',
        summary: 'The console, a page for people',
        answers: { 200: htmlAnswer('The page'), 304: UNCHANGED },
      },
      handler: (exchange) => reply(exchange, files.get(PAGE)),
    },
    {
      method: 'GET',
      pattern: '/console/:file',
      description: {
        ...DESCRIBED,
        operationId: 'getConsoleFile',
        summary: "A file of the console's page",
        path: { file: { type: 'string' } },
        answers: { 200: { description: 'A script, a style or an image' }, 304: UNCHANGED },
      },
      handler: (exchange) => reply(exchange, files.get(exchange.param(0))),
    },
  ]
}

function htmlAnswer(description: string): RouteDescription['answers'][number] {
  return { description, content: { 'text/html': { type: 'string' } } }
}

function reply(exchange: Exchange, file: ConsoleFile | undefined): void {
  if (file === undefined) {
    const text = 'the console has no file of this name; was it built (npm run build)?'
    return exchange.reply(problemReply(new IngestError('not_found', text)))
  }
  const isCompressed = file.brotli !== undefined && takesBrotli(exchange.header('accept-encoding'))
  const tag = `"${file.tag}${isCompressed ? '-br' : ''}"`
  const headers = [
    ['Cache-Control', file.isHashed ? CACHED : ASKED_EACH_TIME],
    ['ETag', tag],
    ['Vary', 'Accept-Encoding'],
    ...SECURITY_HEADERS,
  ] as const
  if (namesTag(exchange.header('if-none-match'), tag)) {
    return exchange.reply({ status: 304, headers })
  }
  exchange.reply({
    status: 200,
    contentType: file.contentType,
    headers: [...headers, ...(isCompressed ? ([['Content-Encoding', 'br']] as const) : [])],
    body: isCompressed ? file.brotli! : file.bytes,
  })
}

/** Whether `If-None-Match` names it; a proxy may have made the tag weak. RFC 9110, 13.1.2. */
function namesTag(ifNoneMatch: string, tag: string): boolean {
  const tags = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//, ''))
  return tags.includes(tag) || tags.includes('*')
}

/** Whether `Accept-Encoding` names brotli and does not refuse it (`br;q=0`). RFC 9110, 12.5.3. */
function takesBrotli(acceptEncoding: string): boolean {
  return acceptEncoding
    .split(',')
    .map((coding) =>
      coding
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .some(([name, weight]) => name === 'br' && !/^q=0(\.0*)?$/.test(weight ?? ''))
}
