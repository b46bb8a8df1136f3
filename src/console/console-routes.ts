/**
 * `/console/`: the page and its files. Nobody needs a credential for them, as they hold no data.
 *
 * The page may be behind a proxy under a path of its own, so it names everything relative to
 * itself. It is never cached; its files are, for ever, as their names change with their content.
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
        answers: { 200: htmlAnswer('The page') },
      },
      handler: (exchange) => reply(exchange, files.get(PAGE), 'no-cache'),
    },
    {
      method: 'GET',
      pattern: '/console/:file',
      description: {
        ...DESCRIBED,
        operationId: 'getConsoleFile',
        summary: "A file of the console's page",
        path: { file: { type: 'string' } },
        answers: { 200: { description: 'A script, a style or an image' } },
      },
      handler: (exchange) => reply(exchange, files.get(exchange.param(0)), CACHED),
    },
  ]
}

function htmlAnswer(description: string): RouteDescription['answers'][number] {
  return { description, content: { 'text/html': { type: 'string' } } }
}

function reply(exchange: Exchange, file: ConsoleFile | undefined, cacheControl: string): void {
  if (file === undefined) {
    const text = 'the console has no file of this name; was it built (npm run build)?'
    return exchange.reply(problemReply(new IngestError('not_found', text)))
  }
  const isCompressed = file.brotli !== undefined && takesBrotli(exchange.header('accept-encoding'))
  exchange.reply({
    status: 200,
    contentType: file.contentType,
    headers: [
      ['Cache-Control', cacheControl],
      ['Vary', 'Accept-Encoding'],
      ...(isCompressed ? ([['Content-Encoding', 'br']] as const) : []),
      ...SECURITY_HEADERS,
    ],
    body: isCompressed ? file.brotli! : file.bytes,
  })
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
