/**
 * Goal: when descriptors are used up, who is connected is served, nothing spins, what else needs a
 * descriptor gets one, it is told once, and new connections are taken when there is room again.
 * Method: a server in a process of its own with a real limit, and more connections than that.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ENGINES, head, RawClient } from './raw-client.ts'

const LIMIT = 128
const CHILD = fileURLToPath(new URL('few-descriptors.js', import.meta.url))

interface State {
  readonly cpuMs: number
  readonly told: readonly string[]
  readonly pauses: number
  readonly isShort: boolean
  readonly read: number
  readonly connections: number | null
}

const children: ChildProcess[] = []
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function startChild(engine: number): Promise<number> {
  const command = `ulimit -n ${LIMIT}; exec "$0" "$@"`
  const args = ['-c', command, process.execPath, CHILD, String(engine)]
  const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return Number(line.toString())
}

async function stateOver(client: RawClient): Promise<State> {
  client.received = ''
  client.write(head('GET', '/state'))
  const reply = await client.until(/\}(\r\n)?$/)
  return JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4)) as State
}

/** Connected, or undefined when it was refused. */
const tryConnect = (port: number) => RawClient.connect(port).catch(() => undefined)

for (const [index, engine] of ENGINES.entries()) {
  test(`more connections than descriptors, on ${engine.name}`, async () => {
    const port = await startChild(index)
    const served = [await RawClient.connect(port), await RawClient.connect(port)] as const
    const before = await stateOver(served[0])
    assert.deepEqual([before.told, before.pauses], [[], 0])
    const crowd = (
      await Promise.all(Array.from({ length: 3 * LIMIT }, () => tryConnect(port)))
    ).flatMap((client) => client ?? [])
    await sleep(1_000)
    const during = await stateOver(served[0])
    assert.equal(during.isShort, true)
    assert.match(during.told.join(), /^short of 128, reserved \d+$/)
    assert.ok(during.read > 0, 'a file could be read')
    await sleep(1_000)
    const later = await stateOver(served[1])
    const busyMs = later.cpuMs - during.cpuMs
    assert.ok(busyMs < 500, `${busyMs} ms of CPU in a second of nothing to do`)
    assert.equal(await tryConnect(port), undefined, 'refused at once, not left waiting')
    for (const client of [...served, ...crowd]) client.destroy()
    const deadline = performance.now() + 10_000
    let again: RawClient | undefined
    while (again === undefined && performance.now() < deadline) {
      await sleep(100)
      again = await tryConnect(port)
    }
    assert.ok(again !== undefined, 'connections are taken again')
    const end = await stateOver(again)
    assert.equal(end.isShort, false)
    assert.deepEqual(end.told.slice(1), ['room'])
    if (end.connections !== null) assert.equal(end.connections, 1)
    again.destroy()
  })
}

test('a port that somebody took while it was closed is reported, and regained later', async (t) => {
  const port = await startChild(0)
  const served = await RawClient.connect(port)
  const crowd = (
    await Promise.all(Array.from({ length: 3 * LIMIT }, () => tryConnect(port)))
  ).flatMap((client) => client ?? [])
  await until(async () => (await stateOver(served)).isShort)
  const squatter = createServer((socket) => socket.destroy())
  t.after(() => squatter.close())
  squatter.listen(port, '127.0.0.1')
  await once(squatter, 'listening')
  for (const client of crowd) client.destroy()
  const told = async () => (await stateOver(served)).told
  await until(async () => (await told()).length > 1)
  await sleep(2_500) // Tried again, it is not told again.
  const [short, taken, ...others] = await told()
  assert.match(short ?? '', /^short of 128/)
  assert.match(taken ?? '', /^taken: cannot listen on .*: another process uses this port$/)
  assert.deepEqual(others, [])
  assert.equal((await stateOver(served)).isShort, true)
  squatter.close()
  await until(async () => !(await stateOver(served)).isShort)
  assert.deepEqual((await told()).slice(2), ['room'])
  const again = await RawClient.connect(port)
  assert.equal((await stateOver(again)).isShort, false)
  for (const client of [served, again]) client.destroy()
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline)
    await sleep(50)
  }
}
