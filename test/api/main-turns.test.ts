/** Goal: work that takes long gets the main thread in pieces, with as long a rest after each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MainTurns, renderInTurns } from '../../src/api/main-turns.ts'
import { MAIN_REST_MS_MAX, MAIN_SLICE_CHARS } from '../../src/limits.ts'

function work(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('one piece a turn, in the order in which they were asked for', async () => {
  const turns = new MainTurns()
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  count()
  const taken: [string, number][] = []
  const done = ['a', 'b', 'c'].map(async (name) => {
    await turns.next()
    taken.push([name, turn])
  })
  await Promise.all(done)
  isOver = true
  assert.equal(taken.map(([name]) => name).join(''), 'abc')
  assert.equal(new Set(taken.map(([, at]) => at)).size, 3, 'each in another turn')
})

test('after a piece others have the thread for as long, up to MAIN_REST_MS_MAX', async () => {
  for (const tookMs of [20, 3 * MAIN_REST_MS_MAX]) {
    const turns = new MainTurns()
    const times: number[] = []
    const piece = async () => {
      await turns.next()
      times.push(performance.now())
      work(tookMs)
      times.push(performance.now())
    }
    await Promise.all([piece(), piece()])
    const restMs = times[2]! - times[1]!
    // Timers have whole milliseconds, and a busy machine is late.
    assert.ok(restMs >= Math.min(tookMs, MAIN_REST_MS_MAX) - 2, `a rest of ${restMs} ms`)
  }
})

test('texts are rendered MAIN_SLICE_CHARS at a time, within their bound', async () => {
  const text = '€'.repeat(MAIN_SLICE_CHARS / 4)
  let asked = 0
  let turnsTaken = 0
  const turns = {
    next: async () => {
      turnsTaken++
      assert.equal((asked + 1) % 4, 0)
    },
  }
  function* texts(count: number) {
    for (asked = 0; asked < count; asked++) yield text
  }
  const whole = await renderInTurns(texts(10), undefined, turns)
  assert.equal(Buffer.from(whole ?? '').toString(), text.repeat(10))
  assert.equal(turnsTaken, 2)
  const bytes = 10 * Buffer.byteLength(text)
  assert.equal((await renderInTurns(texts(10), bytes, turns))?.length, bytes)
  assert.equal(await renderInTurns(texts(10), bytes - 1, turns), undefined)
  assert.equal(await renderInTurns(texts(1_000), bytes, turns), undefined)
  assert.ok(asked < 20, 'the rest is not made')
})
