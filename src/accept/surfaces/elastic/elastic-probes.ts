/**
 * Answers what forwarders ask an Elasticsearch cluster before and while they send. Each answer is
 * the minimum that lets the forwarder carry on; nothing is stored. docs/elastic.md says what each
 * one needs.
 */
import { IngestError } from '../../../errors.ts'
import { ElasticReplies, elasticKey } from '../../../http/elastic-reply.ts'
import { versionFor } from '../../../http/elastic-version.ts'
import type { Exchange, Handler, Reply, Route } from '../../../http/exchange.ts'
import { problemReply } from '../../../http/problem.ts'
import { type CredentialCache, unauthenticated } from '../../admission/authenticate.ts'
import { compatible } from '../descriptions.ts'

const CLUSTER_NAME = 'sluice'
const CLUSTER_UUID = 'c2x1aWNlLWluZ2VzdC0wMQ'
const NODE_ID = 'c2x1aWNlLW5vZGUtMDAwMQ'
const ACKNOWLEDGED = { acknowledged: true }

/** The answer's JSON, or text, or undefined for an empty body. */
type Probe = (exchange: Exchange, seen: Seen) => unknown

type Credentials = Pick<CredentialCache, 'tryResolveKey' | 'resolveKey' | 'resolveToken'>

/** Headers, which can only be read synchronously. */
interface Seen {
  readonly host: string
  readonly accept: string
  readonly userAgent: string
}

const PROBE = {
  tag: 'Elasticsearch',
  credential: 'basic',
  summary: 'Answers what forwarders ask first',
} as const

/** Method, pattern and answer. GET answers HEAD as well. */
const PROBES: readonly (readonly [methods: string, pattern: string, probe: Probe])[] = [
  ['GET', '/_license', () => ({ license: license() })],
  ['GET', '/_xpack', () => ({ build: {}, features: {}, license: license() })],
  ['GET', '/_index_template/:name', () => ({ index_templates: [] })],
  ['GET', '/_template/:name', () => ({})],
  ['GET', '/_component_template/:name', () => ({ component_templates: [] })],
  ['GET', '/_ilm/policy/:name', (exchange) => ({ [exchange.param(0)]: { policy: {} } })],
  ['GET', '/_ingest/pipeline/:name', (exchange) => ({ [exchange.param(0)]: {} })],
  ['GET', '/_data_stream/:name', (exchange) => ({ data_streams: [{ name: exchange.param(0) }] })],
  ['PUT POST', '/_index_template/:name', () => ACKNOWLEDGED],
  ['PUT POST', '/_template/:name', () => ACKNOWLEDGED],
  ['PUT POST', '/_component_template/:name', () => ACKNOWLEDGED],
  ['PUT POST', '/_ilm/policy/:name', () => ACKNOWLEDGED],
  ['PUT POST', '/_ingest/pipeline/:name', () => ACKNOWLEDGED],
  ['PUT POST', '/_data_stream/:name', () => ACKNOWLEDGED],
  [
    'PUT',
    '/:index',
    (exchange) => ({ ...ACKNOWLEDGED, shards_acknowledged: true, index: exchange.param(0) }),
  ],
  ['GET', '/_nodes', nodes],
  ['GET', '/_nodes/http', nodes],
  ['GET', '/_nodes/_all/http', nodes],
  ['GET', '/_nodes/http,settings', nodes],
  ['GET', '/_cat/health', (_exchange, { accept }) => catHealth(accept)],
  ['GET POST', '/_refresh', () => refreshed()],
  ['GET POST', '/:index/_refresh', () => refreshed()],
  ['GET POST', '/_flush', () => refreshed()],
  ['GET POST', '/:index/_flush', () => refreshed()],
]

export function elasticProbeRoutes(credentials: Credentials): Route[] {
  const routes: Route[] = []
  for (const [methods, pattern, probe] of PROBES) {
    const handler = withKey(credentials, probe)
    for (const method of methods.split(' ')) {
      const description = compatible(method, pattern, PROBE)
      const known = method as Route['method']
      routes.push({ method: known, pattern, isLoose: true, description, handler })
    }
  }
  // A client that only asks whether the service is there needs no credential.
  const open: Handler = (exchange) => {
    // A browser: a person is looking for the console. No forwarder asks for HTML.
    if (exchange.header('accept').includes('text/html')) {
      return exchange.reply({ status: 302, headers: [['Location', 'console/']] })
    }
    exchange.reply(new ElasticReplies(exchange).json(200, greeting(seenOf(exchange))))
  }
  const description = { ...compatible('GET', '/', PROBE), credential: 'none' } as const
  for (const pattern of ['/', '/elastic']) {
    const known = { ...description, operationId: pattern === '/' ? 'get' : 'get_elastic' }
    routes.push({ method: 'GET', pattern, isLoose: true, description: known, handler: open })
  }
  return routes
}

/**
 * The reply to a request that no route takes. Outside `/v1`, clients expect an Elasticsearch: an
 * unknown GET is a probe we do not know yet, and an empty object lets most clients go on.
 */
export function elasticFallback(
  credentials: Credentials,
): (exchange: Exchange, allow: string | undefined) => Reply | Promise<Reply> {
  return (exchange, allow) => {
    const { method } = exchange
    if (isOurPath(exchange.path)) return problemReply(noRoute(allow))
    const replies = new ElasticReplies(exchange)
    const isProbe = method === 'GET' || (method === 'HEAD' && allow === undefined)
    if (!isProbe) return replies.error(noRoute(allow))
    const key = elasticKey(exchange.header('authorization'))
    return admit(credentials, key).then(
      (kind) => (kind === 'key' ? replies.reply(200, '{}') : replies.error(noRoute(undefined))),
      (cause: unknown) => replies.error(IngestError.from(cause, 'internal')),
    )
  }
}

/** A refusal by the server itself, in the form that fits the path. Call it synchronously. */
export function refusalByPath(exchange: Exchange, error: IngestError): Reply {
  if (isOurPath(exchange.path)) return problemReply(error)
  return new ElasticReplies(exchange).error(error)
}

const OUR_PATHS = /^\/(?:v1|mcp|loki\/api|services\/collector|healthz|readyz|ready|metrics)(?:\/|$)/

function isOurPath(path: string): boolean {
  return OUR_PATHS.test(path)
}

function noRoute(allow: string | undefined): IngestError {
  if (allow === undefined) return new IngestError('not_found', 'there is nothing at this path')
  return new IngestError('method_not_allowed', `this path takes ${allow}`)
}

/** What is presented: a key, which writes, or a token, which reads. Throws where it is neither. */
async function admit(credentials: Credentials, text: string): Promise<'key' | 'token'> {
  try {
    await credentials.resolveKey(text)
    return 'key'
  } catch (cause) {
    if (!(cause instanceof IngestError && cause.code === 'forbidden')) throw cause
    await credentials.resolveToken(text)
    return 'token'
  }
}

/** A token may ask too, but not have anything acknowledged. */
function withKey(credentials: Credentials, probe: Probe): Handler {
  return async (exchange) => {
    const replies = new ElasticReplies(exchange)
    const seen = seenOf(exchange)
    const key = elasticKey(exchange.header('authorization'))
    try {
      const resolved = credentials.tryResolveKey(key)
      if (resolved === undefined) throw unauthenticated()
      if (resolved === 'lookup') {
        const isAsking = exchange.method === 'GET' || exchange.method === 'HEAD'
        await (isAsking ? admit(credentials, key) : credentials.resolveKey(key))
      }
    } catch (cause) {
      return exchange.reply(replies.error(IngestError.from(cause, 'internal')))
    }
    const value = probe(exchange, seen)
    if (value === undefined) return exchange.reply(replies.reply(200, ''))
    if (typeof value !== 'string') return exchange.reply(replies.json(200, value))
    exchange.reply({ ...replies.reply(200, value), contentType: 'text/plain; charset=UTF-8' })
  }
}

function seenOf(exchange: Exchange): Seen {
  return {
    host: exchange.header('host'),
    accept: exchange.header('accept'),
    userAgent: exchange.header('user-agent'),
  }
}

function greeting({ userAgent }: Seen): unknown {
  return {
    name: CLUSTER_NAME,
    cluster_name: CLUSTER_NAME,
    cluster_uuid: CLUSTER_UUID,
    version: {
      number: versionFor(userAgent),
      build_flavor: 'default',
      build_type: 'tar',
      build_hash: '0000000000000000000000000000000000000000',
      build_date: '2024-12-11T12:00:00.000000000Z',
      build_snapshot: false,
      lucene_version: '9.12.0',
      minimum_wire_compatibility_version: '7.17.0',
      minimum_index_compatibility_version: '7.0.0',
    },
    tagline: 'You Know, for Search',
  }
}

function license(): unknown {
  return {
    status: 'active',
    uid: '00000000-0000-0000-0000-000000000000',
    type: 'basic',
    mode: 'basic',
    expiry_date_in_millis: 4_102_444_800_000,
  }
}

/** One node: the address that the client already uses. */
function nodes(_exchange: Exchange, { host, userAgent }: Seen): unknown {
  const http = {
    bound_address: [host],
    publish_address: host,
    max_content_length_in_bytes: 10485760,
  }
  const node = {
    name: CLUSTER_NAME,
    version: versionFor(userAgent),
    roles: ['data', 'ingest'],
    http,
  }
  return {
    _nodes: { total: 1, successful: 1, failed: 0 },
    cluster_name: CLUSTER_NAME,
    nodes: { [NODE_ID]: node },
  }
}

function catHealth(accept: string): unknown {
  if (/json/.test(accept)) return [{ cluster: CLUSTER_NAME, status: 'green', 'node.total': '1' }]
  return `${CLUSTER_NAME} green 1 1 1 1 0 0 0 0 - 100.0%\n`
}

function refreshed(): unknown {
  return { _shards: { total: 1, successful: 1, failed: 0 } }
}
