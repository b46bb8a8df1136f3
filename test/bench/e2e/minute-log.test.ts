/**
 * Goal: each minute of a load is told by itself, and the last ones are compared with the first.
 * Method: a server that counts up, a data directory with parts, minutes of a few milliseconds.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  compareQuarters,
  formatMinutes,
  type Minute,
  MinuteLog,
} from '../../../bench/e2e/minute-log.ts'
import { eventually, makeDirectory, removeDirectory } from '../../store/temporary.ts'

const cpuOf = (clickhouse: number) => ({ node: 10, postgres: 0, clickhouse, other: 0 })

function minute(events: number, clickhouse: number): Minute {
  const nothing = {
    parts: 1,
    mergedParts: 0,
    merges: 0,
    files: 9,
    diskBytes: 1e9,
    rssBytes: 2 ** 30,
  }
  return { seconds: 60, events, cpu: cpuOf(clickhouse), ...nothing }
}

test('quarters are compared by their rates, and by their CPU an event', () => {
  const minutes = [600, 600, 500, 400, 300, 300, 300, 300].map((events) => minute(events, 590))
  assert.deepEqual(compareQuarters(minutes), { rate: 0.5, cpu: 2 })
  assert.deepEqual(compareQuarters([minute(600, 590)]), { rate: 1, cpu: 1 })
  const text = formatMinutes(minutes)
  assert.match(text, /^minute +k ev\/s/)
  assert.match(text, /last quarter : first quarter {2}rate 0.500, CPU 2.00$/)
  assert.equal(text.split('\n').length, 2 + minutes.length + 1)
})

test('each minute has what came in it, and what is there at its end', async () => {
  let events = 1_000
  const server = createServer((_, response) => {
    response.end(`# HELP x\ningest_events_accepted_total ${events}\nother_total 5\n`)
    events += 500
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const dataDirectory = makeDirectory()
  const table = join(dataDirectory, 'clickhouse', 'data', 'data', 'sluice', 'events_1')
  for (const part of ['20261127_1_1_0', '20261127_2_4_1', 'tmp_merge_20261127_5_6_1']) {
    mkdirSync(join(table, part), { recursive: true })
    writeFileSync(join(table, part, 'data.bin'), 'x'.repeat(100))
  }
  let clickhouse = 0
  const log = new MinuteLog({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dataDirectory,
    watch: {
      sample: () => {
        clickhouse += 40
        return { atMs: performance.now(), cpu: cpuOf(clickhouse), mainThreadMicros: 0 }
      },
      memory: () => {
        const use = { bytes: 7, peakBytes: 8 }
        return { node: use, postgres: use, clickhouse: use, other: use, all: use }
      },
    },
    log: () => undefined,
    everyMs: 5,
  })
  await log.start()
  await eventually('two minutes', () => log.minutes.length >= 2)
  const [first, second] = log.stop()
  server.close()
  removeDirectory(dataDirectory)
  for (const one of [first!, second!]) {
    const { seconds, ...rest } = one
    assert(seconds > 0)
    assert.deepEqual(rest, {
      ...{ events: 500, cpu: { ...cpuOf(40), node: 0 } },
      ...{ parts: 2, mergedParts: 1, merges: 1, files: 3, diskBytes: 300, rssBytes: 7 },
    })
  }
})
