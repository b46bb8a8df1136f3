/**
 * Goal: what became of alerts is an event in the owner's stream, under the same key for each try;
 * an owner whose events are refused holds up nobody else.
 * Method: transitions in memory, and an ingest that refuses or loses its answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALERTS_STREAM } from '../../src/alerts/rule-streams.ts'
import { TransitionPublisher } from '../../src/alerts/transition-publisher.ts'
import { IngestError } from '../../src/errors.ts'
import type { AgentEvents } from '../../src/model/batch/agent-events.ts'
import type { Stream } from '../../src/model/stream.ts'
import type { Transition } from '../../src/store/alerts/transition-store.ts'
import { virtualTime } from '../support/virtual-time.ts'

function transition(transitionId: number, owner: string): Transition {
  return {
    ...{ transitionId, owner, ruleId: 1, ruleName: 'errors', ruleVersion: 1, kind: 'firing' },
    ...{ fingerprint: 'f', groupJson: '["web"]', reason: undefined, fromMs: 0, untilMs: 60_000 },
    ...{ value: 3, events: 3, decidedAtMs: 61_000 },
  }
}

function setUp(all: Transition[]) {
  const sent: AgentEvents[] = []
  const made: string[] = []
  const fault = { of: '', afterStored: false }
  const streams: Stream[] = []
  const publisher = new TransitionPublisher({
    store: {
      readUnpublished: async (except) =>
        all.filter(({ owner }) => !except.includes(owner)).slice(0, 1),
      setPublished: async (ids) => {
        for (const id of ids)
          all.splice(
            all.findIndex((one) => one.transitionId === id),
            1,
          )
      },
    },
    isWorker: () => true,
    control: {
      findStreamNamed: async (owner, name) =>
        streams.find((stream) => stream.owner === owner && stream.name === name),
      createStream: async (owner, { name }) => {
        made.push(`${owner} ${name}`)
        const stream = { streamId: streams.length + 1, owner, name } as unknown as Stream
        streams.push(stream)
        return stream
      },
    },
    ingest: async (events) => {
      const isFault = events.stream.owner === fault.of
      if (!isFault || fault.afterStored) sent.push(events)
      if (isFault) throw new IngestError('storage_cap_reached', 'full')
      return { accepted: 1, rejected: 0, errors: [], event_ids: [] }
    },
    onError: () => undefined,
  })
  return { sent, made, fault, publisher }
}

test('an owner whose events are refused holds up nobody else, and is tried again', async (t) => {
  const time = virtualTime(t)
  const all = [transition(1, 'ann'), transition(2, 'bob'), transition(3, 'bob')]
  const { sent, made, fault, publisher } = setUp(all)
  fault.of = 'ann'
  for (let n = 0; n < 5; n++) await publisher.publishNext()
  assert.deepEqual(
    sent.map(({ stream, idempotencyKey }) => [stream.owner, idempotencyKey]),
    [
      ['bob', 'sluice-alert-transitions-2'],
      ['bob', 'sluice-alert-transitions-3'],
    ],
  )
  assert.deepEqual(made, [`ann ${ALERTS_STREAM}`, `bob ${ALERTS_STREAM}`], 'each once')
  assert.equal(await publisher.publishNext(), false, 'ann rests')
  fault.of = ''
  time.work(60_000)
  assert.equal(await publisher.publishNext(), true)
  assert.deepEqual([sent.at(-1)?.stream.owner, all.length], ['ann', 0])
})

test('a try whose answer was lost is repeated under the same key', async (t) => {
  const time = virtualTime(t)
  const { sent, fault, publisher } = setUp([transition(7, 'ann')])
  Object.assign(fault, { of: 'ann', afterStored: true })
  await publisher.publishNext()
  fault.of = ''
  time.work(60_000)
  await publisher.publishNext()
  const keys = sent.map(({ idempotencyKey }) => idempotencyKey)
  assert.deepEqual(keys, ['sluice-alert-transitions-7', 'sluice-alert-transitions-7'])
  assert.deepEqual(String(sent[0]?.body), String(sent[1]?.body), 'byte for byte')
  const [event] = JSON.parse(String(sent[0]?.body)) as [Record<string, unknown>]
  assert.deepEqual([event.kind, event.level, event.group], ['firing', 'warn', '["web"]'])
})
