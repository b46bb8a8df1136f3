/** The few management calls the bench makes, and how it counts back what both stores hold. */

export interface ServiceAddress {
  readonly url: string
  readonly token: string
}

export interface TransformChoice {
  readonly redact_sensitive?: boolean
  readonly parse_user_agents?: boolean
}

export interface BenchStream {
  readonly id: string
  readonly key: string
}

export interface StoredCounts {
  /** Events of the raw store, from the usage counters. */
  readonly rawEvents: number
  /** Events of the projection, from a query over all time. */
  readonly projectionEvents: number
  /** As the service reports them; NaN when it does not. */
  readonly rawBytes: number
  readonly projectionBytes: number
}

const REQUEST_MS_MAX = 30_000

export async function createStream(
  service: ServiceAddress,
  name: string,
  transforms: TransformChoice,
): Promise<BenchStream> {
  const stream = await call(service, 'POST', '/v1/streams', { name, ...transforms })
  const id = String(readField(stream, ['id']))
  const created = await call(service, 'POST', `/v1/streams/${id}/keys`, { name: 'bench' })
  return { id, key: String(readField(created, ['key'])) }
}

export async function updateStream(
  service: ServiceAddress,
  { id }: BenchStream,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  await call(service, 'PATCH', `/v1/streams/${id}`, settings)
}

/** True once the service answers with our token, so that a store's URL is not taken for it. */
export async function isService(service: ServiceAddress): Promise<boolean> {
  try {
    await call(service, 'GET', '/v1/streams')
    return true
  } catch {
    return false
  }
}

export async function countStored(
  service: ServiceAddress,
  streams: readonly BenchStream[],
): Promise<StoredCounts> {
  const total = { rawEvents: 0, projectionEvents: 0, rawBytes: 0, projectionBytes: 0 }
  for (const stream of streams) {
    const usage = await readUsage(service, stream)
    total.rawEvents += usage.rawEvents
    total.rawBytes += usage.rawBytes
    total.projectionBytes += usage.projectionBytes
    total.projectionEvents += await countProjection(service, stream.id)
  }
  return total
}

/** Without counting the projection's events: cheap enough to be asked during a load. */
export async function readUsage(
  service: ServiceAddress,
  { id }: BenchStream,
): Promise<Omit<StoredCounts, 'projectionEvents'>> {
  const usage = await call(service, 'GET', `/v1/streams/${id}/usage`)
  return {
    rawEvents: readNumber(usage, ['events']),
    rawBytes: readNumber(usage, ['stored_bytes', 'raw']),
    projectionBytes: readNumber(usage, ['stored_bytes', 'projection']),
  }
}

/** By receipt time, over a range that holds every run. */
async function countProjection(service: ServiceAddress, id: string): Promise<number> {
  const reply = await call(service, 'POST', `/v1/streams/${id}/query`, {
    from: new Date(Date.now() - 86_400_000).toISOString(),
    to: new Date(Date.now() + 3_600_000).toISOString(),
  })
  return readNumber(reply, ['total'])
}

/** NaN when it is absent, so that a missing figure shows instead of passing for 0. */
function readNumber(reply: unknown, path: readonly string[]): number {
  const value = readField(reply, path)
  return value === undefined || value === null ? Number.NaN : Number(value)
}

function readField(value: unknown, path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as Record<string, unknown>)[key]
  }
  return current
}

export async function call(
  service: ServiceAddress,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      authorization: `Bearer ${service.token}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
  return JSON.parse(text)
}
