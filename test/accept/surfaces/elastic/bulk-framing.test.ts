/**
 * Goal: where the network cuts a bulk body, and where we cut it into batches, never shows in what a
 * client sees or what is stored.
 * Method: good, broken and hostile bodies, whole, in random chunks and byte by byte, with batches
 * from a few bytes to the real target, through framer, worker code and reply; all compared with the
 * model of the whole body. An item's own id must lead to the event that the model has for it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BulkCutter } from '../../../../src/accept/surfaces/elastic/bulk-framing.ts'
import { BATCH_BYTES_TARGET, BODY_BYTES_MAX, SEGMENT_EVENTS_MAX } from '../../../../src/limits.ts'
import { bulkBody } from '../../../decode/bulk-bodies.ts'
import { type ModelItem, modelBulk } from '../../../decode/bulk-model.ts'
import { cpuNow } from '../../../support/cpu-time.ts'
import { fewest, fuzzed, testSeed } from '../../../support/fuzzing.ts'
import { cutAt } from '../../framing/frame-body.ts'
import { type BulkOptions, runBulk } from './bulk-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface Reply {
  readonly items: readonly Readonly<
    Record<string, { _index: string; _id?: string; error?: { type: string } }>
  >[]
}

/** The outcome of a body, in the model's terms, and the rejects. */
function outcomeOf(chunks: readonly Uint8Array[], options: BulkOptions) {
  const { events, reply, errors, parts } = runBulk(chunks, options)
  const left = [...events.entries()]
  const items = (JSON.parse(Buffer.from(reply).toString()) as Reply).items.map(
    (entry): ModelItem => {
      const [[operation, item] = []] = Object.entries(entry)
      assert(operation !== undefined && item !== undefined)
      const { _index: index, _id, error } = item
      if (error !== undefined) {
        return { operation, index, id: _id, errorType: error.type, event: undefined }
      }
      const [id, text] = left.shift() ?? []
      assert(text !== undefined)
      const event = JSON.stringify(JSON.parse(text))
      return { operation, index, id: _id === id ? undefined : _id, errorType: undefined, event }
    },
  )
  assert.equal(left.length, 0)
  return { items, errors, parts }
}

test('any body gives what the model gives, wherever it is cut', () => {
  const cuts = fc.array(fc.nat(600), { maxLength: 12 })
  const declared = fc.integer({ min: 1, max: 120 })
  let parts = 0
  const property = fc.property(bulkBody, cuts, declared, (text, offsets, declaredBytes) => {
    const bytes = Buffer.from(text)
    const model = modelBulk(text, 'i')
    const whole = outcomeOf([bytes], { defaultIndex: 'i' })
    const singles = Array.from(bytes, (byte) => Uint8Array.of(byte))
    assert.deepEqual(whole.items, model)
    for (const chunks of [[bytes], cutAt(bytes, offsets), singles]) {
      const cut = outcomeOf(chunks, { defaultIndex: 'i', declaredBytes })
      assert.deepEqual(cut.items, model)
      assert.deepEqual(cut.errors, whole.errors)
      parts += cut.parts
    }
  })
  fc.assert(property, fuzzed(seed, 3_000, 1_500))
  assert(parts > fewest(100))
})

test('a cut never falls between an action and its document', () => {
  const action = '{"create":{}}\n'
  const document = '{"index":{"a":1}}\n' // Looks like an action.
  const cutAfter = (text: string) => new BulkCutter().cut(Buffer.from(text), text.length)
  assert.equal(cutAfter(action), -1)
  assert.equal(cutAfter(action + document), (action + document).length)
  assert.equal(cutAfter(action + document + action), (action + document).length)
  assert.equal(cutAfter(`${action}${document}${action}{"inde`), (action + document).length)
  assert.equal(cutAfter(`${action}\n \r\n${document}\n`), `${action}\n \r\n${document}\n`.length)
  assert.equal(cutAfter('{"delete":{}}\n'), 14)
  assert.equal(cutAfter('{"delete":{}}\nx\n'), 14)
  assert.equal(cutAfter('x\n'), -1)
  assert.equal(cutAfter('x\nx\n'), 4)
  assert.equal(cutAfter(`x\n${action}`), 2)
})

test('a cutter that gets bytes in steps answers like one that gets them at once', () => {
  const property = fc.property(
    bulkBody,
    fc.array(fc.nat(600), { maxLength: 8 }),
    (text, offsets) => {
      const bytes = Buffer.from(text)
      const cutter = new BulkCutter()
      for (const length of [...offsets.filter((at) => at <= bytes.length)].sort((a, b) => a - b)) {
        assert.equal(cutter.cut(bytes, length), new BulkCutter().cut(bytes, length))
      }
    },
  )
  fc.assert(property, fuzzed(seed, 3_000, 400))
})

test('a large body becomes batches of about BATCH_BYTES_TARGET, its ids lead to its events', () => {
  const pair = (i: number) => `{"create":{}}\n{"message":"${'x'.repeat(40)}","n":${i}}\n`
  const count = Math.ceil((2.2 * BATCH_BYTES_TARGET) / pair(10_000).length)
  assert(count > 2 * SEGMENT_EVENTS_MAX)
  const body = Buffer.from(Array.from({ length: count }, (_, i) => pair(i)).join(''))
  const { items, parts } = outcomeOf(cutAt(body, [1, 70_000, 800_000, 1_200_000]), {})
  assert.equal(parts, 3)
  assert.equal(items.length, count)
  assert(items.every(({ id }) => id === undefined))
  assert(items.every(({ event }, i) => event?.endsWith(`"n":${i}}`)))
})

test('bodies with no place to cut are not searched again with each chunk', () => {
  const action = '{"create":{}}\n'
  for (const [start, fill] of [
    [action, '\n'],
    [action, ' '],
    [action, 'x'],
    ['x\n', '\n'],
    ['', '\n'],
    ['', 'x\n'],
    ['', '{"index":{}}\n'],
  ] as const) {
    const chunk = Buffer.from(fill.repeat(Math.floor(1_400 / fill.length)))
    const cutter = new BulkCutter()
    const startedAt = cpuNow()
    let body = Buffer.alloc(BODY_BYTES_MAX, 'x')
    body.write(start)
    let length = start.length
    while (length + chunk.length <= body.length) {
      chunk.copy(body, length)
      length += chunk.length
      if (length < BATCH_BYTES_TARGET) continue
      const cut = cutter.cut(body, length)
      if (cut < 0) continue
      body = body.subarray(cut)
      length -= cut
      cutter.reset()
    }
    assert(cpuNow() - startedAt < 2_000, JSON.stringify(fill))
  }
})
