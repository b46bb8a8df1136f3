/**
 * Goal: what workers do over and over takes no more of the arena than doing it once did: nothing
 * gives memory back but who took it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestPipeline } from '../../workers/ingest.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { heldBytes } from '../../workers/kernel/arena-copy.ts'
import { previewEvent } from '../../workers/redaction-preview.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { USER_AGENT_CACHE_MAX, UserAgents } from '../../workers/transform/agents/user-agent.ts'
import { batchOf } from '../workers/batch-of.ts'

const SETTINGS = { parseUserAgents: true, redactSensitive: true, redactFields: [] }

/** Bytes that the arena grew by while `work` ran so often, after it ran `before` times. */
function growthOf(before: number, times: number, work: (i: number) => void): number {
  for (let i = 0; i < before; i++) work(i)
  const { bytes } = arena
  for (let i = before; i < before + times; i++) work(i)
  return arena.bytes - bytes
}

test('large batches that are rewritten', () => {
  const pipeline = new IngestPipeline()
  const text = 'x'.repeat(1_000)
  const line = JSON.stringify({ password: 'secret', text, ua: 'Mozilla/5.0 Firefox/1.0' })
  const body = `${line}\n`.repeat(6_000)
  const work = () => {
    assert.equal(pipeline.run({ ...batchOf(body), settings: SETTINGS }).parts[0]?.accepted, 6_000)
  }
  assert.equal(growthOf(2, 4, work), 0)
})

test('segments that are read again, large and small', () => {
  const ingest = new IngestPipeline()
  const replay = new ReplayPipeline()
  const payloads = [5_000, 5].map((count) => {
    const lines = Array.from({ length: count }, (_, i) => `{"n":${i * 7},"level":"${i % 3}"}`)
    return ingest.run(batchOf(lines.join('\n'))).segments[0]!.payload
  })
  const work = () => {
    for (const payload of payloads) replay.run(payload, 1)
  }
  assert.equal(growthOf(2, 4, work), 0)
})

test('keys without end, whose trie starts afresh again and again', () => {
  const pipeline = new IngestPipeline()
  const work = (i: number) => {
    const members = Array.from({ length: 12_000 }, (_, j) => `"k${i}_${j}":{"ua":"x ${j % 7}"}`)
    pipeline.run({ ...batchOf(`{${members.join(',')}}`), settings: SETTINGS })
  }
  assert(growthOf(12, 12, work) < 256 * 1024)
})

test('user agents beyond what is remembered', () => {
  const agents = new UserAgents()
  const strings = heldBytes(Buffer.alloc(40, ' '))
  const each = 64
  const work = (i: number) => {
    agents.begin(1, i * 1_000_000)
    for (let j = 0; j < each; j++) {
      const length = strings.write(`Mozilla/5.0 Firefox/${i * each + j}.0`)
      agents.lookUp(strings, 0, length)
    }
    assert.equal(agents.misses, each)
  }
  const rounds = Math.ceil(USER_AGENT_CACHE_MAX / each) + 8
  assert.equal(growthOf(rounds, rounds, work), 0)
})

test('previews', () => {
  const work = (i: number) => {
    const sample = Buffer.from(`{"password":"x","list":[${i}],"other":"y"}`)
    const preview = previewEvent(sample, ['other', `field${i}`])
    assert.deepEqual(JSON.parse(preview?.redacted ?? ''), {
      password: '[REDACTED]',
      list: [i],
      other: '[REDACTED]',
    })
  }
  assert.equal(growthOf(4, 200, work), 0)
})
