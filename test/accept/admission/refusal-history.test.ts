/**
 * Goal: each refused request is told once: whose it was, which limit it met, when; and a storm of
 * them, or one while the store is away, stays in few counters.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budgets } from '../../../src/accept/admission/budgets.ts'
import {
  causeOf,
  REFUSALS_TOLD_MAX,
  type Refusal,
  RefusalHistory,
  STRANGERS_TOLD_MAX,
} from '../../../src/accept/admission/refusal-history.ts'
import { bodyTooLarge } from '../../../src/accept/request/ingest-request.ts'
import { IngestError } from '../../../src/errors.ts'
import { InFlight } from '../../../src/http/in-flight.ts'
import {
  type KeyOwner,
  NO_KEY,
  NO_STREAM,
  OTHER_KEYS,
  type RefusedRequests,
} from '../../../src/model/batch/usage-counts.ts'
import { createCredential } from '../../../src/model/credential.ts'
import type { StreamId } from '../../../src/model/stream.ts'

const STREAM = 7 as StreamId
const MINUTE = 29_000_000
const HOUR = MINUTE - (MINUTE % 60)

class Store {
  readonly written: RefusedRequests[][] = []
  readonly owners = new Map<string, KeyOwner>()
  isAway = false
  minute = MINUTE
  readonly history = new RefusalHistory(
    {
      record: async (refused) => {
        if (this.isAway) throw new Error('away')
        this.written.push([...refused])
      },
      findOwners: async (prefixes) => {
        return new Map([...this.owners].filter(([prefix]) => prefixes.includes(prefix)))
      },
    },
    () => this.minute * 60_000 + 5,
  )

  add(refusal: Partial<Refusal>) {
    const error = new IngestError('rate_limited', 'the stream is over its rate_budget')
    const known = { streamId: STREAM, keyId: 3, presented: '', error, events: undefined, bytes: 10 }
    this.history.add({ ...known, reason: (refusal.error ?? error).code, ...refusal })
  }

  async rows() {
    await this.history.flush()
    return this.written.splice(0).flat()
  }
}

test('requests of one key, reason and minute are one row', async () => {
  const store = new Store()
  store.add({})
  store.add({ events: 4, bytes: 90 })
  store.add({ keyId: 5 })
  store.minute++
  store.add({})
  const row = {
    ...{ streamId: STREAM, keyId: 3, reason: 'rate_limited', cause: 'rate_budget' },
    ...{ start: MINUTE, minutes: 1 },
  }
  const lastAtMs = MINUTE * 60_000 + 5
  assert.deepEqual(await store.rows(), [
    { ...row, requests: 2, events: 4, bytes: 100, lastAtMs },
    { ...row, keyId: 5, requests: 1, events: null, bytes: 10, lastAtMs },
    {
      ...{ ...row, start: MINUTE + 1, requests: 1, events: null, bytes: 10 },
      lastAtMs: lastAtMs + 60_000,
    },
  ])
  await store.history.stop()
})

test('without a valid key it is told whose it may be, by the prefix alone', async () => {
  const store = new Store()
  const [revoked, wrong, unknown, token] = [...(['key', 'key', 'key', 'token'] as const)].map(
    (kind) => createCredential(kind),
  )
  store.owners.set(revoked!.prefix, { streamId: STREAM, keyId: 8, isRevoked: true })
  store.owners.set(wrong!.prefix, { streamId: STREAM, keyId: 9, isRevoked: false })
  const error = new IngestError('unauthenticated', 'a valid credential is required')
  const stranger = { streamId: undefined, keyId: undefined, error }
  for (const { text } of [revoked!, wrong!, unknown!, token!]) {
    store.add({ ...stranger, presented: text })
  }
  store.add({ ...stranger, presented: '' })
  store.add({ ...stranger, presented: 'Bearer of news' })
  // The look-up did not get through: the key may be right.
  const late = new IngestError('overloaded', 'too many wait (CREDENTIAL_LOOKUP_MS_MAX)')
  store.add({ ...stranger, error: late, reason: 'overloaded', presented: wrong!.text })
  const rows = await store.rows()
  assert.deepEqual(
    rows.map(({ streamId, keyId, cause }) => [streamId, keyId, cause]),
    [
      [STREAM, 8, 'revoked_key'],
      [STREAM, 9, 'wrong_secret'],
      [NO_STREAM, NO_KEY, 'unknown_key'],
      [NO_STREAM, NO_KEY, 'access_token'],
      [NO_STREAM, NO_KEY, 'no_key'],
      [NO_STREAM, NO_KEY, 'not_a_key'],
      [STREAM, 9, 'CREDENTIAL_LOOKUP_MS_MAX'],
    ],
  )
  const secrets = [revoked!, wrong!, unknown!, token!].map(({ text }) => text.slice(13))
  for (const secret of secrets) assert.ok(!JSON.stringify(rows).includes(secret))
  await store.history.stop()
})

test('a storm by many keys, and by strangers with made-up ones, is few rows', async () => {
  const store = new Store()
  const extra = 50
  for (let key = 1; key <= REFUSALS_TOLD_MAX + extra; key++) store.add({ keyId: key })
  const error = new IngestError('unauthenticated', 'a valid credential is required')
  for (let n = 0; n < STRANGERS_TOLD_MAX + extra; n++) {
    const presented = createCredential('key').text
    store.add({ streamId: undefined, keyId: undefined, error, presented })
  }
  const rows = await store.rows()
  assert.equal(rows.length, REFUSALS_TOLD_MAX + 1 + STRANGERS_TOLD_MAX + 1)
  const others = rows.find(({ keyId }) => keyId === OTHER_KEYS)
  assert.deepEqual([others?.requests, others?.start, others?.minutes], [extra, HOUR, 60])
  assert.equal(
    rows.reduce((sum, { requests }) => sum + requests, 0),
    REFUSALS_TOLD_MAX + STRANGERS_TOLD_MAX + 2 * extra,
  )
  await store.history.stop()
})

test('while the store is away nothing is lost or doubled, and what waits is bounded', async () => {
  const store = new Store()
  store.isAway = true
  const minutes = 2_000
  for (let n = 0; n < minutes; n++) {
    store.minute++
    store.add({})
    if (n % 100 === 0) await store.history.flush()
  }
  store.isAway = false
  const rows = await store.rows()
  assert.ok(rows.length <= 2 * (REFUSALS_TOLD_MAX + STRANGERS_TOLD_MAX) + 1, `${rows.length}`)
  assert.equal(
    rows.reduce((sum, { requests }) => sum + requests, 0),
    minutes,
  )
  assert.deepEqual(await store.rows(), [])
  await store.history.stop()
})

test('the limit is that which the error names, if no client can have put it there', () => {
  const thrownBy = (run: () => void) => {
    try {
      run()
    } catch (cause) {
      if (cause instanceof IngestError) return causeOf(cause)
    }
    return assert.fail('it must be refused')
  }
  const nodes = { liveNodes: () => 1, nowMs: () => 0 }
  const stream = { streamId: STREAM, rateBudget: 1, byteBudget: 1 }
  const budgets = new Budgets({ ...nodes })
  budgets.charge(stream, { events: 100 })
  assert.equal(
    thrownBy(() => budgets.check(stream)),
    'rate_budget',
  )
  budgets.charge(stream, { bytes: 10_000 })
  assert.equal(
    thrownBy(() => budgets.check(stream)),
    'byte_budget',
  )
  assert.equal(
    thrownBy(() => new InFlight(10, () => 0).enter(11)),
    '--in-flight-bytes-max',
  )
  assert.equal(causeOf(bodyTooLarge()), 'BODY_BYTES_MAX')
  const cap = 'the stream is more than a tenth over its max_stored_bytes'
  assert.equal(causeOf(new IngestError('storage_cap_reached', cap)), 'max_stored_bytes')
  assert.equal(causeOf(new IngestError('malformed', 'event 0: key SECRET_THING')), '')
})
