/**
 * Goal: what another system needs is measured as Sluice is: started, loaded, settled and stopped.
 * Method: a rival of our own that answers as Loki does, and one that never starts.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findSurface } from '../../bench/e2e/surfaces/all.ts'
import type { Rival } from '../../bench/rivals/rival.ts'
import { runRival } from '../../bench/rivals/run-rival.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-rivals-'))
after(() => rmSync(directory, { recursive: true }))
const seen = join(directory, 'seen')

/** Writes down the first and the last time of its last request, and where its files were. */
const SERVER = `
import { createServer } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
const port = Number(readFileSync(process.argv[2], 'utf8'))
createServer((request, response) => {
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    if (request.method === 'GET') return response.writeHead(200).end()
    const { values } = JSON.parse(Buffer.concat(pieces)).streams[0]
    const times = values.map(([time]) => time)
    const isRising = times.every((time, i) => i === 0 || BigInt(time) > BigInt(times[i - 1]))
    const first = times[0]
    writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ first, isRising, at: process.argv[2] }))
    response.writeHead(204).end()
  })
}).listen(port, '127.0.0.1')
`
const script = join(directory, 'rival.mjs')
writeFileSync(script, SERVER)

const rival: Rival = {
  name: 'test',
  title: 'a test',
  acknowledges: 'nothing',
  surface: 'loki',
  path: undefined,
  configuration: (port) => String(port),
  args: ({ configFile }) => [script, configFile],
  ready: { path: '/ready', status: 200 },
}

test('a rival is started, loaded, settled, stopped and cleaned up after', async () => {
  const before = BigInt(Date.now()) * 1_000_000n
  const options = { binary: process.execPath, seconds: 1, warmUpSeconds: 1 }
  const figures = await runRival(rival, options)
  assert.equal(figures.failedRequests, 0, figures.firstFailure)
  assert(figures.eventsPerSecond > 1_000, `${figures.eventsPerSecond}`)
  assert(figures.microsPerEvent > 0.1, `${figures.microsPerEvent}`)
  assert(figures.peakBytes > 1024 * 1024)
  const { first, isRising, at } = JSON.parse(readFileSync(seen, 'utf8'))
  assert(BigInt(first) >= before && isRising)
  assert(!existsSync(at))
})

test('one that does not start is an error with what it said', async () => {
  const args = () => ['-e', 'console.error("no luck"); process.exit(3)']
  const options = { binary: process.execPath, seconds: 1, warmUpSeconds: 1 }
  await assert.rejects(runRival({ ...rival, args }, options), /exited with code 3[\s\S]*no luck/)
  const missing = { ...options, binary: join(directory, 'none') }
  await assert.rejects(runRival(rival, missing), /did not start/)
})

test('times of a request change in place, and never come twice', () => {
  const body = findSurface('loki').encodeBody(['{"a":1}', '{"b":"\\n[\\"x"}'])
  const times = new Set<string>()
  for (let i = 0; i < 1_000; i++) {
    findSurface('loki').refresh!(body)
    const { values } = JSON.parse(body.toString()).streams[0]
    assert.deepEqual(
      values.map(([, line]: string[]) => line),
      ['{"a":1}', '{"b":"\\n[\\"x"}'],
    )
    for (const [time] of values) times.add(time)
  }
  assert.equal(times.size, 2_000)
})
