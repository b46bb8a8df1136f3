/**
 * Goal: every action gives exactly one item, in order, and what is wrong with one touches no other.
 * Method: a model with JSON.parse and objects over random bodies; tables for what has a name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPTH_MAX, EVENT_BYTES_MAX } from '../../src/limits.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { bulkBody } from './bulk-bodies.ts'
import { type ModelItem, modelBulk } from './bulk-model.ts'
import { type DecodedPart, decodePart, decodeParts } from './decode-part.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface Item {
  readonly _index?: string
  readonly _id?: string
  readonly status?: number
  readonly error?: { readonly type: string; readonly reason: string }
}

function itemsOf({ result }: DecodedPart): [operation: string, item: Item][] {
  const json = Buffer.from(result.bulkItems?.json ?? []).toString()
  return (JSON.parse(`[${json}]`) as Record<string, Item>[]).map((item) => {
    const [entry] = Object.entries(item)
    assert(entry !== undefined)
    return entry
  })
}

/** What was decoded, in the model's terms. */
function modelOf(part: DecodedPart): ModelItem[] {
  let stored = 0
  return itemsOf(part).map(([operation, item]) => {
    assert.equal(item.status, item.error === undefined ? 201 : 400)
    const text = item.error === undefined ? part.events[stored++] : undefined
    const isOurs = item._id === `${'0'.repeat(19)}-${stored - 1}`
    return {
      operation,
      index: item._index ?? 'none',
      id: isOurs ? undefined : item._id,
      errorType: item.error?.type,
      event: text === undefined ? undefined : JSON.stringify(JSON.parse(text)),
    }
  })
}

/** Operation and, where it failed, why. */
function brief(body: string): string[] {
  return itemsOf(decodePart('bulk', body)).map(([operation, { error }]) => {
    return error === undefined ? operation : `${operation} ${error.type}`
  })
}

test('any body is decoded as the model decodes it', () => {
  fc.assert(
    fc.property(bulkBody, (body) => {
      const part = decodePart('bulk', body, { defaultIndex: 'def"ault' })
      const expected = modelBulk(body, 'def"ault')
      assert.deepEqual(modelOf(part), expected)
      const { result } = part
      assert.equal(result.items, expected.length)
      assert.equal(result.accepted, part.events.length)
      assert.equal(result.rejected, expected.length - part.events.length)
      assert.equal(result.bulkItems?.hasErrors, result.rejected > 0)
      assert.equal(result.lines, body.split('\n').length - (/(^|\n)$/.test(body) ? 1 : 0))
    }),
    fuzzed(seed, 6_000, 1_200),
  )
})

test('a stored action is answered what is read, the place of its id noted', () => {
  const body = '{"create":{"_index":"x"}}\n{"a":1}\n{"index":{"_id":"i\\n\\u00e9"}}\n{"b":2}'
  const { result, events } = decodePart('bulk', body)
  const rest = '"_version":1,"result":"created","status":201}}'
  const json = Buffer.from(result.bulkItems?.json ?? []).toString()
  const id = '0000000000000000000-0'
  assert.equal(
    json,
    `{"create":{"_index":"x","_id":"${id}",${rest},` +
      `{"index":{"_index":"","_id":"i\\n\\u00e9",${rest}`,
  )
  assert.deepEqual([...(result.bulkItems?.idPlaces ?? [])], [json.indexOf(id), 0])
  assert.deepEqual(events, ['{"a":1}', '{"b":2}'])
})

test('an error is answered with the id sent, its type and a reason without contents', () => {
  const body = '{"create":{"_index":"x","_id":12}}\n{"password":"hunter2" "b"}\n'
  const { result } = decodePart('bulk', body)
  assert.equal(
    Buffer.from(result.bulkItems?.json ?? []).toString(),
    '{"create":{"_index":"x","_id":"12","status":400,"error":{"type":"document_parsing_exception"' +
      `,"reason":"invalid JSON at byte 23 of the line: expected ',' or the closing bracket"}}}`,
  )
  assert.deepEqual(result.rejectedByCode, { malformed: 1 })
})

test('equal reasons of an action and of a document keep their types', () => {
  const reasons = '{"index":{}x\n{}\n{"index":{}}\n{"index":{}x\n'
  const [action, document] = itemsOf(decodePart('bulk', reasons))
  assert.equal(action?.[1].error?.reason, document?.[1].error?.reason)
  assert.notEqual(action?.[1].error?.type, document?.[1].error?.type)
})

test('a malformed action takes its document along and nothing after it', () => {
  const good = ['{"create":{}}', '{"a":1}']
  const bad = 'index illegal_argument_exception'
  for (const action of ['x', '{"index":null}', '{"creat":{}}', '[]', '{"a":1}']) {
    const body = [...good, action, '{"b":2}', ...good, '', ...good].join('\n')
    assert.deepEqual(brief(body), ['create', bad, 'create', 'create'], action)
    const alone = [...good, action, ...good].join('\n')
    assert.deepEqual(brief(alone), ['create', bad, 'create'], action)
  }
  for (const action of ['{"create":{}', '{"create":{}}x', '{"create":{"_id":{}}}']) {
    const body = [...good, action, '{"create":{"this":"is a document"}}', ...good].join('\r\n')
    assert.deepEqual(brief(body), ['create', 'create illegal_argument_exception', 'create'])
  }
})

test('delete, updates by script and missing documents are answered as errors', () => {
  const error = 'illegal_argument_exception'
  const body =
    '{"delete":{"_id":"1"}}\n{"delete":{"_id":"1"}}\n{"index":{}}\n{"a":1}\n{"create":{}}'
  assert.deepEqual(brief(body), [`delete ${error}`, `delete ${error}`, 'index', `create ${error}`])
  for (const [line, expected] of [
    ['{"doc":{"a":1}}', 'update'],
    ['{"doc_as_upsert":true,"doc":{"a":1},"detect_noop":false}', 'update'],
    ['{"scripted_upsert":true,"script":{"source":"x"},"upsert":{"a":1}}', 'update'],
    ['{"script":{"source":"x"},"scripted_upsert":true}', `update ${error}`],
    ['{"doc":[1]}', 'update document_parsing_exception'],
    ['{"doc":{"a":1}}}', 'update document_parsing_exception'],
    ['[{"doc":{"a":1}}]', 'update document_parsing_exception'],
  ] as const) {
    assert.deepEqual(brief(`{"update":{"_id":"1"}}\n${line}`), [expected], line)
  }
})

test('the event of an update is its doc, else its upsert, nested as deep as events may be', () => {
  const deepest = `{"a":${'['.repeat(DEPTH_MAX - 1)}${']'.repeat(DEPTH_MAX - 1)}}`
  const body = [
    `{"update":{}}\n{"upsert":{"u":1},"doc":${deepest}}`,
    '{"update":{}}\n{"script":{"a":[{"b":1}]},"upsert":{"u":2}}',
  ]
  const { events } = decodePart('bulk', body.join('\n'))
  assert.deepEqual(events, [deepest, '{"u":2}'])
})

test('documents too deep or too large and actions too large fail alone', () => {
  const deep = `{"a":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}`
  const large = `{"a":"${'x'.repeat(EVENT_BYTES_MAX - 7)}"}`
  const fits = `{"a":"${'x'.repeat(EVENT_BYTES_MAX - 8)}"}`
  const lines = [deep, large, fits, '{"a":1}'].map((document) => `{"create":{}}\n${document}`)
  lines.push(`{"create":{"x":"${'x'.repeat(EVENT_BYTES_MAX)}"}}\n{"b":1}`, '{"index":{}}\n{"c":1}')
  lines.push(`{"create":{"x":${'['.repeat(DEPTH_MAX + 1)}}\n{"b":1}`, '{"index":{}}\n{"d":1}')
  const body = lines.join('\n')
  const document = 'create document_parsing_exception'
  const action = 'create illegal_argument_exception'
  const expected = [document, document, 'create', 'create', action, 'index', action, 'index']
  assert.deepEqual(brief(body), expected)
  const { result } = decodePart('bulk', body)
  assert.deepEqual(result.rejectedByCode, { too_deep: 1, too_large: 1, malformed: 2 })
})

test('parts of one batch have items of their own, and ids that count over the batch', () => {
  const [first, second] = decodeParts([
    ['bulk', '{"create":{"_index":"a"}}\n{"a":1}\n{"create":{}}\n{"a":2}\n'],
    ['ndjson', '{"b":1}'],
    ['bulk', 'x\n{"index":{}}\n{"c":1}', { defaultIndex: 'd\u0000"' }],
  ]).filter((part) => part.result.bulkItems !== undefined)
  assert(first !== undefined && second !== undefined)
  const ids = itemsOf(first).map(([, item]) => item._id)
  assert.deepEqual(ids, ['0000000000000000000-0', '0000000000000000000-1'])
  const [failed, stored] = itemsOf(second)
  assert.deepEqual([failed?.[1]._index, failed?.[1].status], ['d\u0000"', 400])
  assert.equal(stored?.[1]._id, '0000000000000000000-3')
  assert.equal(second.result.bulkItems?.idPlaces[1], 0)
  assert.deepEqual(
    [first.result.bulkItems?.hasErrors, second.result.bulkItems?.hasErrors],
    [false, true],
  )
})

test('hostile bodies take linear time and bounded memory', () => {
  const size = 200_000
  for (const unit of [
    'x\n',
    '\n',
    '{\n',
    '{"index":{}}\n',
    '{"delete":{}}\n',
    '{"index":{}}\n{}\n',
  ]) {
    const startedAt = cpuNow()
    const body = unit.repeat(size / unit.length)
    const { result } = decodePart('bulk', body)
    assert.equal(result.items, modelBulk(body).length)
    assert((result.bulkItems?.json.length ?? 0) < 260 * (result.items + 1))
    assert(cpuNow() - startedAt < 3_000, unit)
  }
})
