/**
 * Goal: without PostgreSQL the service says 503 and when to come back, keeps nothing it cannot
 * keep, loses nothing that it acknowledged, and goes on by itself when the store is back.
 * Method: PostgreSQL is killed again and again, then stopped in its tracks; the disk is filled on
 * a file system of its own (needs root; skipped where mounting is not permitted).
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONTROL_POLL_MS, READ_GRACE_MS } from '../../../src/limits.ts'
import { sendSignal } from '../../../src/machine/processes.ts'
import { type Answer, Api, call, JSON_TYPE, NDJSON_TYPE, readProblem } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { Load } from '../../support/load.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { verify } from '../../support/verify.ts'

const BACK_MS_MAX = 60_000
const TIMEOUT_MS = 1_000
/** For a machine that does other things, too. */
const SLACK_MS = 1_500

/** 503, with the seconds to wait in both places. */
function assertUnavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text)
  assert.equal(answer.headers['content-type'], 'application/problem+json')
  const { code, retry_after: retryAfter } = readProblem(answer)
  assert.equal(code, 'unavailable')
  assert.ok(Number(retryAfter) > 0)
  assert.equal(answer.headers['retry-after'], String(retryAfter))
}

/** In the terms of Loki's and of Splunk's senders, who try again by these. */
async function assertDoorsUnavailable(api: Api, key: string): Promise<void> {
  for (const [path, body, told] of [
    ['/loki/api/v1/push', '{"streams":[{"stream":{},"values":[["0","a"]]}]}', /^[^{]+\n$/],
    ['/services/collector', '{"event":"a"}', /^\{"text":"Server is busy","code":9,/],
  ] as const) {
    const headers = { 'x-api-key': key, 'content-type': JSON_TYPE, 'idempotency-key': path }
    const answer = await call(`${api.url}${path}`, { method: 'POST', headers, body })
    assert.equal(answer.status, 503, answer.text)
    assert.ok(Number(answer.headers['retry-after']) > 0)
    assert.match(answer.text, told)
  }
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + BACK_MS_MAX
  while (!(await check())) {
    assert.ok(performance.now() < deadline, `not in time: ${what}`)
    await sleep(100)
  }
}

interface TimedRead {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly needsStreams: boolean
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: {
    readonly content: Record<string, { schema: { properties?: Record<string, unknown> } }>
  }
}

/** The routes that take `timeout_ms`, as the API describes itself. */
async function timedReads(api: Api): Promise<TimedRead[]> {
  const { paths } = JSON.parse(await api.rest('/v1/openapi.json')) as {
    paths: Record<string, Record<string, Operation>>
  }
  const all = Object.entries(paths).flatMap(([path, methods]) => {
    return Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  })
  return all.flatMap(({ path, method, operation }) => {
    const { operationId: name, parameters = [], requestBody } = operation
    const body = requestBody?.content['application/json']?.schema.properties ?? {}
    const names = [...parameters.map((parameter) => parameter.name), ...Object.keys(body)]
    if (!names.includes('timeout_ms')) return []
    return [{ name, path, method: method.toUpperCase(), needsStreams: names.includes('streams') }]
  })
}

describe('PostgreSQL away', () => {
  const dataDir = makeDataDir()
  let service: Service
  let api: Api

  before(async () => {
    service = await Service.start({ dataDir })
    api = new Api(service)
  })

  after(async () => {
    await service?.kill()
    await removeDataDir(dataDir)
  })

  test('killed again and again: 503, not ready, alive; then all goes on', {
    skip: ONLY_LONG,
  }, async (t) => {
    const load = await Load.create(api, ['single', 'ndjson', 'idempotent'], { pauseMs: 20 })
    t.after(() => load.stop())
    const { stream } = load.writers[0] ?? assert.fail()
    load.start()
    await sleep(2 * CONTROL_POLL_MS) // The new keys are noticed, and cached again.
    const end = performance.now() + 4_000
    let isDown = true
    const killing = (async () => {
      while (performance.now() < end) {
        const { postmaster } = service.stores()
        if (postmaster !== undefined) sendSignal(postmaster, 'SIGKILL')
        await sleep(15)
      }
      isDown = false
    })()
    await sleep(200)
    const answers = new Set<number>()
    while (isDown) {
      answers.add((await api.ingest(stream.key, '[]')).status) // Judged without the store.
      assertUnavailable(await api.ingest(stream.key, '{}', { 'idempotency-key': 'away' }))
      await assertDoorsUnavailable(api, stream.key)
      const ready = await call(`${api.url}/readyz`)
      assert.equal(ready.status, 503)
      assert.match(ready.text, /"status":"not_ready","not_ready":\{"postgres":/)
      assert.equal((await call(`${api.url}/healthz`)).status, 200)
      await sleep(50)
    }
    await killing
    assert.deepEqual([...answers], [400])
    await until('ready', async () => (await call(`${api.url}/readyz`)).status === 200)
    await load.stop()
    await load.settleIdempotent()
    t.diagnostic(JSON.stringify({ ...load.counts, ...(await verify(api, load)) }))
  })

  test('stopped in its tracks: writers wait, nothing is made up, all goes on', async (t) => {
    const load = await Load.create(api, ['single', 'array', 'large', 'idempotent'], { pauseMs: 5 })
    t.after(() => load.stop())
    load.start()
    await sleep(500)
    const { postmaster, backends } = service.stores()
    const pids = [postmaster ?? 0, ...backends].filter((pid) => pid > 0)
    for (const pid of pids) sendSignal(pid, 'SIGSTOP')
    try {
      // What was on its way is answered first.
      await sleep(500)
      const before = load.counts.acknowledged
      await sleep(2_000)
      assert.ok(load.counts.acknowledged - before <= 1, 'nothing is acknowledged meanwhile')
    } finally {
      for (const pid of pids.reverse()) sendSignal(pid, 'SIGCONT')
    }
    await sleep(500)
    await load.stop()
    t.diagnostic(JSON.stringify({ ...load.counts, ...(await verify(api, load)) }))
    assert.equal(load.counts.unanswered, 0)
  })

  test('stopped in its tracks: every read that takes timeout_ms keeps it', async (t) => {
    const stream = await api.createStream()
    await api.ingest(stream.key, '{"level":"info","message":"hello"}')
    await api.untilCounted(stream.id, 1)
    const view = await api.rest(`/v1/streams/${stream.id}/views`, 'POST', { name: 'v' })
    const { id: viewId } = JSON.parse(view) as { id: string }
    const reads = await timedReads(api)
    assert.ok(reads.length >= 14, `found are ${reads.length}`)
    const { postmaster, backends } = service.stores()
    const pids = [postmaster ?? 0, ...backends].filter((pid) => pid > 0)
    for (const pid of pids) sendSignal(pid, 'SIGSTOP')
    try {
      const asked = reads.map(async ({ name, method, path, needsStreams }) => {
        const filled = path.replace('{id}', stream.id).replace('{view}', viewId)
        const url = filled.replace('{path}', 'message')
        const streams = needsStreams ? { streams: [stream.id] } : {}
        const startedAt = performance.now()
        const answer = await (method === 'POST'
          ? api.tryRest(url, method, { timeout_ms: TIMEOUT_MS, ...streams })
          : api.tryRest(
              `${url}?timeout_ms=${TIMEOUT_MS}${streams.streams ? `&streams=${stream.id}` : ''}`,
            ))
        return { name, answer, ms: Math.round(performance.now() - startedAt) }
      })
      const answers = await Promise.all(asked)
      t.diagnostic(
        answers.map(({ name, answer, ms }) => `${name} ${answer.status} ${ms}`).join(', '),
      )
      for (const { name, answer, ms } of answers) {
        assert.ok(ms <= TIMEOUT_MS + READ_GRACE_MS + SLACK_MS, `${name} took ${ms} ms`)
        assertUnavailable(answer)
        assert.equal((JSON.parse(answer.text) as { reason?: string }).reason, 'timeout', name)
      }
    } finally {
      for (const pid of pids.reverse()) sendSignal(pid, 'SIGCONT')
    }
    await until('answers', async () => {
      const answer = await api.tryRest(`/v1/streams/${stream.id}/query`, 'POST', {})
      return answer.status === 200
    })
  })

  test('a key that was never seen cannot be judged while PostgreSQL is away', async () => {
    const stream = await api.createStream()
    const { postmaster, backends } = service.stores()
    for (const pid of [postmaster ?? assert.fail(), ...backends]) sendSignal(pid, 'SIGKILL')
    assertUnavailable(await api.ingest(stream.key, '{"a":1}'))
    const sent = async () => (await api.ingest(stream.key, '{"a":2}')).status === 200
    await until('taken again', sent)
    assert.equal((await api.events(stream.id)).length, 1)
  })
})

/** A small file system of its own, undefined when this machine does not permit it. */
function mountSmall(path: string): string | undefined {
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=320m', 'tmpfs', path])
  return mount.status === 0 ? undefined : `no mount: ${mount.stderr?.toString() ?? mount.error}`
}

/** So long a request waits to know how a COMMIT went is enough to call it unanswered. */
const UNANSWERED_MS = 8_000

describe('disk full', () => {
  const dataDir = makeDataDir()
  const reason = mountSmall(dataDir)
  let service: Service | undefined

  after(async () => {
    await service?.kill()
    await sleep(200)
    if (reason === undefined) spawnSync('umount', ['-l', dataDir])
    await removeDataDir(dataDir)
  })

  test('503 while it is full; with space again all goes on', { skip: reason }, async (t) => {
    service = await Service.start({ dataDir })
    const api = new Api(service)
    const stream = await api.createStream()
    const acknowledged: number[] = []
    // Random text does not compress: the raw store really needs the space.
    let n = 0
    const send = async () => {
      const filler = Array.from({ length: 200 }, () => Math.random().toString(36)).join('')
      const body = Array.from({ length: 20 }, () => JSON.stringify({ n, filler })).join('\n')
      const sent = n++
      const answer = await api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE })
      if (answer.status === 200) acknowledged.push(sent)
      return answer
    }
    assert.equal((await send()).status, 200)
    const filler = join(dataDir, 'filler')
    fillUp(filler)
    let refused = 0
    const unanswered = new Set<unknown>()
    for (let tries = 0; refused < 10; tries++) {
      assert.ok(tries < 3_000, 'the disk never was full')
      const sent = n
      // PostgreSQL ended amid a COMMIT, and cannot come back to say how that went.
      const answer = await Promise.race([send(), sleep(UNANSWERED_MS)]).catch(() => undefined)
      if (answer?.status === 200) continue
      if (answer === undefined) unanswered.add(sent)
      else assertUnavailable(answer)
      refused++
    }
    assert.ok(unanswered.size <= 1, 'requests after it are refused')
    assert.equal((await call(`${api.url}/healthz`)).status, 200)
    rmSync(filler)
    await until('ingest goes on', async () => (await send()).status === 200)
    const events = await api.events(stream.id)
    const stored = new Map<unknown, number>()
    for (const { payload } of events) stored.set(payload.n, (stored.get(payload.n) ?? 0) + 1)
    const known = [...stored.keys()].filter((sent) => !unanswered.has(sent))
    const told = acknowledged.filter((sent) => !unanswered.has(sent))
    assert.deepEqual(known.reverse(), told, 'what was acknowledged, only that')
    assert.ok([...stored.values()].every((count) => count === 20))
    await api.untilCounted(stream.id, events.length, BACK_MS_MAX)
    assert.equal((await api.count(stream.id)).total, events.length)
    t.diagnostic(
      `${acknowledged.length} of ${n} requests acknowledged, ${unanswered.size} unanswered`,
    )
  })
})

/** Leaves nothing: large pieces first, then small ones. */
function fillUp(path: string): void {
  for (const bytes of [1_048_576, 65_536, 4_096]) {
    const piece = Buffer.alloc(bytes, 1)
    const write = () => {
      for (;;) writeFileSync(path, piece, { flag: 'a' })
    }
    assert.throws(write, { code: 'ENOSPC' })
  }
}
