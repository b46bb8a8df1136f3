/**
 * Goal: syslog has no answers, so nobody is promised anything of a message before its commit. What
 * was committed survives kill -9 of the service, once; a batch is never stored in part; and what
 * was lost is what had been read a moment before.
 * Method: senders over TCP number their messages, the service is killed at random moments and
 * started on the same data and port. The seed is printed; TEST_SEED repeats it.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, call } from '../support/api.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'

const ROUNDS = 5
const SENDERS = 3
const BLOCK = 20
/** From reading to a commit, on a machine that is busy, by a worker that has just begun. */
const LOST_SECONDS_MAX = 10

const dataDir = makeDataDir()
let service: Service
let port = 0

async function start(): Promise<void> {
  service = await Service.start({
    dataDir,
    args: ['--syslog', `tcp://127.0.0.1:${port}?stream=network`],
  })
  port = Number(/"port":(\d+).*syslog is listened for/.exec(service.output)?.[1])
}

before(start)
after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** By sender: when each of its messages was given to the system. */
const sent = Array.from({ length: SENDERS }, () => [] as number[])
let isSending = true

/** Sends until told otherwise; after a break it goes on with its next number. */
async function sendOn(sender: number): Promise<void> {
  const times = sent[sender]!
  while (isSending) {
    const socket = connect(port, '127.0.0.1')
    let isOpen = true
    socket
      .on('error', () => undefined)
      .once('close', () => {
        isOpen = false
      })
    while (isSending && isOpen) {
      if (socket.readyState === 'open' && socket.writableLength === 0) {
        const from = times.length
        for (let n = from; n < from + BLOCK; n++) {
          socket.write(n % 2 === 0 ? `<13>s${sender} ${n}\n` : counted(`<13>s${sender} ${n}`))
          times.push(performance.now())
        }
      }
      await sleep(5)
    }
    await new Promise<void>((resolve) => socket.end(() => resolve()).once('close', resolve))
    if (isSending) await sleep(50)
  }
}

function counted(message: string): string {
  return `${message.length} ${message}`
}

async function metric(name: string): Promise<number> {
  const { text } = await call(`${service.url}/metrics`)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

test('kill -9 at random moments: what was committed is there, once', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const senders = sent.map((_, sender) => sendOn(sender))
  const kills: number[] = []
  let stored = 0
  for (let round = 0; round < ROUNDS; round++) {
    while ((await metric('ingest_events_accepted_total')) === 0) await sleep(50)
    await sleep(next() * 1_500)
    const committed = await metric('ingest_events_accepted_total')
    kills.push(performance.now())
    await service.kill()
    await start()
    api.url = service.url
    const { events } = await api.usage('1')
    assert.ok(events >= stored + committed, `${events} of ${stored + committed}`)
    stored = events
  }
  await sleep(500)
  isSending = false
  await Promise.all(senders)
  while ((await metric('ingest_syslog_waiting_bytes')) > 0) await sleep(20)
  const found = new Set<string>()
  for (const { payload } of await api.events('1')) {
    const [text = ''] = /s\d \d+$/.exec(String(payload.message)) ?? []
    assert.ok(text !== '', `a message in part: ${payload.message}`)
    assert.ok(!found.has(text), `${text} is there twice`)
    found.add(text)
  }
  let lost = 0
  for (const [sender, times] of sent.entries()) {
    for (const [n, atMs] of times.entries()) {
      if (found.has(`s${sender} ${n}`)) continue
      lost++
      const isNearKill = kills.some((killMs) => Math.abs(atMs - killMs) < LOST_SECONDS_MAX * 1_000)
      assert.ok(isNearKill, `s${sender} ${n} is lost, and no kill was near`)
    }
  }
  t.diagnostic(JSON.stringify({ stored: found.size, lost }))
  assert.ok(found.size > 1_000)
})
