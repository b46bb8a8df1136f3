/**
 * Goal: what the encoder writes is what ClickHouse reads, value for value and type for type.
 * Method: blocks go through the worker's pipeline into a table of the real engine; what the engine
 * prints is compared with a model of the projection (`value-trees.ts`) that shares no code with the
 * encoder. Our own bytes are never decoded by ourselves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BLOCK_PATHS_MAX, NESTED_COLUMNS_DEPTH_MAX, SEGMENT_EVENTS_MAX } from '../../src/limits.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { batchOf } from '../workers/batch-of.ts'
import { ProjectionHarness } from './projection-harness.ts'
import {
  documentTree,
  leavesOf,
  type ObjectTree,
  render,
  type Tree,
  toObject,
} from './value-trees.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface PayloadRow {
  readonly payload: unknown
  readonly types: Record<string, string>
}

const PAYLOAD_COLUMNS = 'payload, JSONAllPathsWithTypes(payload) AS types'

/** JSON with the numbers' and strings' spelling kept, as a tree. */
function parseTree(text: string): ObjectTree {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g, (token) =>
    token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`,
  )
  const toTree = (value: unknown): Tree => {
    if (typeof value === 'string') {
      if (value.startsWith('n')) return { kind: 'number', text: value.slice(1) }
      return { kind: 'string', text: JSON.stringify(value.slice(1)).slice(1, -1) }
    }
    if (Array.isArray(value)) return { kind: 'array', items: value.map(toTree) }
    if (value === null || typeof value !== 'object') {
      return { kind: 'literal', text: String(value) as 'null' }
    }
    const entries = Object.entries(value).map(([key, item]) => {
      return [JSON.stringify(key.slice(1)).slice(1, -1), toTree(item)] as const
    })
    return { kind: 'object', entries }
  }
  return toTree(JSON.parse(marked)) as ObjectTree
}

function expectedTypes(tree: ObjectTree): Record<string, string> {
  return Object.fromEntries([...leavesOf(tree)].map(([path, { type }]) => [path, type]))
}

/** In the stream's own table and in the shared one, whose columns are written otherwise. */
async function assertStored(trees: readonly ObjectTree[], stream = harness.newStream()) {
  const lines = trees.map(render)
  const [id] = await harness.insertLines(stream, lines)
  await assertRows(trees, stream, `WHERE segment_id = ${id}`)
  const shared = await harness.insertShared(stream, lines)
  await assertRows(trees, MIXED_STREAM, `WHERE stream_id = ${stream} AND segment_id = ${shared}`)
}

async function assertRows(trees: readonly ObjectTree[], table: StreamId, where: string) {
  const rows = await harness.select<PayloadRow>(table, PAYLOAD_COLUMNS, where)
  assert.deepEqual(
    rows.map(({ types }) => types),
    trees.map(expectedTypes),
  )
  assert.deepEqual(
    rows.map(({ payload }) => payload),
    trees.map((tree) => toObject(leavesOf(tree))),
  )
}

/** Lines on one table: the whole of them in one block, and each in a block of its own. */
async function assertLines(...lines: string[]): Promise<void> {
  const trees = lines.map(parseTree)
  const stream = harness.newStream()
  await assertStored(trees, stream)
  if (trees.length > 1) await assertEach(trees, stream)
}

/** In the same tables, all blocks in one INSERT: the engine reads each by itself. */
async function assertEach(trees: readonly ObjectTree[], stream: StreamId): Promise<void> {
  const batches = trees.map((tree) => batchOf(render(tree)))
  const encoded = batches.map((batch) => new IngestPipeline().run(batch))
  const ids = await harness.insertApart(stream, encoded)
  await assertRows(trees, stream, `WHERE segment_id IN (${ids})`)
  const shared = await harness.insertSharedBatches(stream, batches)
  const where = `WHERE stream_id = ${stream} AND segment_id IN (${shared})`
  await assertRows(trees, MIXED_STREAM, where)
}

test('numbers keep every digit, or equal Number(text) bit for bit', async () => {
  const integers = ['0', '7', '-1', '999999999999999', '1000000000000000', '-9007199254740993']
  integers.push('9223372036854775807', '-9223372036854775808', '9223372036854775808')
  integers.push('18446744073709551615', '10000000000000000000', '-1000000000000000000')
  const floats = ['1.5', '0.1', '-0.0', '1e400', '-1e400', '5e-324', '1e23', '123456789012345.6']
  floats.push('18446744073709551616', '-9223372036854775809', '0.3', '1e-7', '9.999999999999999e22')
  floats.push('2.2250738585072011e-308', '99999999999999.9', '0.000000000000001', '1E2')
  await assertLines(...[...integers, ...floats].map((text) => `{"n":${text}}`))
  const stream = harness.newStream()
  await harness.insertLines(
    stream,
    floats.map((text) => `{"n":${text}}`),
  )
  const bits = 'toString(reinterpretAsUInt64(payload.n.:Float64)) AS bits'
  const rows = await harness.select<{ bits: string }>(stream, bits)
  const expected = floats.map((text) => {
    return String(new BigUint64Array(Float64Array.of(Number(text)).buffer)[0])
  })
  assert.deepEqual(
    rows.map((row) => row.bits),
    expected,
  )
})

test('strings of every kind', async () => {
  const long = 'x'.repeat(127)
  await assertLines(
    '{"s":""}',
    '{"s":"\\u0000a\\u0000"}',
    '{"s":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u001f"}',
    '{"s":"é日本😀\\u00e9\\ud83d\\ude00"}',
    '{"s":"\\ud83d","t":"\\ude00x"}',
    ...[long, `${long}x`, `${long}xx`, 'é'.repeat(9_000), `\\n${long}${long}`].map(
      (s) => `{"s":"${s}"}`,
    ),
  )
})

test('bools, nulls, empty objects and arrays', async () => {
  await assertLines(
    '{"t":true,"f":false}',
    '{"n":null,"o":{},"p":{"q":{}},"x":1}',
    '{}',
    '{"e":[],"n":[null],"nn":[null,null]}',
    '{"b":[true,null,false],"i":[1,null,-2],"u":[9223372036854775808,null]}',
    '{"f":[1.5,null,2.5],"m":[1,2.5,null],"s":["a",null,"\\n",""]}',
    '{"i":[1,9223372036854775808],"uf":[18446744073709551615,1.5],"x":[1,"a",true,null,1e5]}',
    '{"n":[[1],[],[[2,{"a":null}]]],"o":[{"a":1},2],"on":[{"a":1},null]}',
    '{"big":[18446744073709551616,1],"inf":[1e400,-1e400,-0.0]}',
  )
})

test('arrays of objects are columns of their own, down to NESTED_COLUMNS_DEPTH_MAX', async () => {
  await assertLines(
    '{"a":[{"x":1,"y":"s"},{"x":2.5},{},{"y":null}]}',
    '{"a":[{}]}',
    '{"a":[{"b":[{"c":1},{"c":"x"}]},{"b":[]},{"b":[1]},{"b":{"d":[{"e":true}]}}]}',
    '{"a":[{"b":[{"c":[{"d":[{"e":[1]}]}]}]}]}',
    '{"a":[{"b":[{"c":[{"d":[{ "k" : [1, 2] }]}]}]}],"z":[{"b":[{"c":[{"d":[]}]}]}]}',
    '{"a":{"b":[{"c.d":1,"e":{"f":2}}]}}',
  )
  const levels = (count: number): Tree => {
    const value: Tree = count === 0 ? { kind: 'number', text: '1' } : levels(count - 1)
    return { kind: 'array', items: [{ kind: 'object', entries: [['k', value]] }] }
  }
  for (let count = 0; count <= NESTED_COLUMNS_DEPTH_MAX + 1; count++) {
    await assertStored([{ kind: 'object', entries: [['a', levels(count)]] }])
  }
})

test('one path with a type a row keeps each type', async () => {
  const values = ['1', '1.5', '"s"', 'true', 'null', '[1]', '[1.5]', '["s"]', '[true]', '{}']
  values.push('[{"x":1}]', '9223372036854775808', '[9223372036854775808]', '{"y":1}', '[[1]]', '[]')
  await assertLines(...values.map((value) => `{"a":{"v":${value}}}`))
  await assertLines(...values.map((value) => `{"v":${value},"w":1}`).reverse())
})

test('dotted keys are nested ones, and the last duplicate wins', async () => {
  await assertLines(
    '{"a.b":1,"c":{"d.e":2}}',
    '{"a":{"b":"x"},"c.d":{"e":2}}',
    '{"c.d.e":[{"f.g":1}]}',
  )
  const cases: readonly (readonly [line: string, equal: string])[] = [
    ['{"a":1,"a":"x"}', '{"a":"x"}'],
    ['{"a":1,"a":null}', '{}'],
    ['{"a":{"b":1},"a":2}', '{"a":2}'],
    ['{"a":2,"a":{"b":1}}', '{"a":{"b":1}}'],
    ['{"a.b":1,"a":{"b":2}}', '{"a":{"b":2}}'],
    ['{"a":{"b":[{"x":1}]},"a.b":2}', '{"a":{"b":2}}'],
    ['{"a":[{"x":1,"x":[1,2]}],"z":1,"a":[{"x":"1"}]}', '{"a":[{"x":"1"}],"z":1}'],
    ['{"\\u0061":1,"a":[true]}', '{"a":[true]}'],
  ]
  for (const [line, equal] of cases) {
    const stream = harness.newStream()
    await harness.insertLines(stream, [line, '{"k":1}', line])
    const [row, , again] = await harness.select<PayloadRow>(stream, PAYLOAD_COLUMNS)
    assert.deepEqual(row?.types, expectedTypes(parseTree(equal)), line)
    assert.deepEqual(row?.payload, toObject(leavesOf(parseTree(equal))), line)
    assert.deepEqual(again, row, line)
  }
})

test('arrays at a dotted key and at a nested one have the same columns', async () => {
  await assertLines('{"b":{"c":[{"l":1}]}}', '{"b.c":[{"l":[]}]}')
  await assertLines(
    '{"b":{"c":[{"l":"x"}]}}',
    '{"b.c":[{"l":1},{"m.n":2}]}',
    '{"b.c":[{"m":{"n":[]}}]}',
  )
  await assertLines('{"b":{"c":[{"d":[{"x":[1]}]}]}}', '{"b.c":[{"d":[{"x":["s"]}]},{}]}')
})

test('keys of every kind reach the engine as they are', async () => {
  const keys = ['x y', 'q"', 'back\\slash', 'é', '日本', '`', '^', '$', 'a:b', '%', '\t', '\u0001']
  keys.push('a'.repeat(500))
  const names = keys.map((key) => JSON.stringify(key))
  await assertLines(...names.map((name) => `{${name}:1,"o":{${name}:["x"]}}`))
})

test('empty keys and keys of dots do not break the block around them', async () => {
  for (const line of ['{"":1,"a":2}', '{"a":{"":1},"b":2}', '{".":1,"b":2}', '{"a..b":1,"b":2}']) {
    const stream = harness.newStream()
    await harness.insertLines(stream, ['{"b":2}', line, '{"b":2}'])
    const rows = await harness.select<{ n: string }>(stream, 'toJSONString(payload) AS n')
    assert.equal(rows.length, 3, line)
    assert.equal(rows[0]?.n, rows[2]?.n, line)
  }
})

test('a path that is a value and an object in one event keeps both', async () => {
  const stream = harness.newStream()
  await harness.insertLines(stream, ['{"a":1,"a.b":2}', '{"a":{"b":"x"}}', '{"a":[1]}'])
  const rows = await harness.select<PayloadRow>(stream, PAYLOAD_COLUMNS)
  assert.deepEqual(rows[0]?.types, { a: 'Int64', 'a.b': 'Int64' })
  assert.deepEqual(rows[1]?.payload, { a: { b: 'x' } })
  assert.deepEqual(rows[2]?.types, { a: 'Array(Nullable(Int64))' })
})

test('BLOCK_PATHS_MAX paths are stored, the others are skipped and counted', async () => {
  const event = (count: number) =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join(',')}}`
  const stream = harness.newStream()
  for (const extra of [0, 1, 100]) {
    const encoded = new IngestPipeline().run(batchOf(`${event(BLOCK_PATHS_MAX + extra)}\n{"k0":7}`))
    assert.equal(encoded.segments[0]?.pathsSkipped, extra)
    const [id] = await harness.insert(stream, encoded)
    const [row] = await harness.select<PayloadRow>(
      stream,
      PAYLOAD_COLUMNS,
      `WHERE segment_id=${id}`,
    )
    assert.equal(Object.keys(row!.types).length, BLOCK_PATHS_MAX)
    const last = BLOCK_PATHS_MAX - 1
    assert.equal((row!.payload as Record<string, string>)[`k${last}`], String(last))
  }
})

test('arrays of objects with more paths than their type declares keep them all', async () => {
  const entries = Array.from({ length: 400 }, (_, i) => `"k${i}":${i}`)
  await assertLines(`{"a":[{${entries.join(',')}},{"k399":"x"}]}`)
})

interface FixedRow {
  readonly segment_id: string
  readonly ordinal: number
  readonly ingested_at: string
  readonly event_time: string
  readonly shape: string
}

test('segment, ordinal, times and shape of each row; several blocks in one INSERT', async () => {
  const stream = harness.newStream()
  const pipeline = new IngestPipeline()
  const timed = '{"ts":"2026-01-02T03:04:05.123456789+01:00"}'
  const batches = [
    pipeline.run(batchOf(`{"a":1}\n${timed}\n{"a":2}`)),
    pipeline.run(batchOf('{"b":"x"}')),
    pipeline.run(batchOf('{"time":"1969-12-31T23:59:59.999999999Z"}\n{"a":3}')),
  ]
  const [first, second, third] = await harness.insert(stream, ...batches)
  const rows = await harness.select<FixedRow>(
    stream,
    'segment_id, ordinal, ingested_at, event_time, shape',
  )
  const receipt = '2026-01-02 03:04:05.678'
  const expected = [
    [first, 0, `${receipt}000000`],
    [first, 1, '2026-01-02 02:04:05.123456789'],
    [first, 2, `${receipt}000000`],
    [second, 0, `${receipt}000000`],
    [third, 0, '1969-12-31 23:59:59.999999999'],
    [third, 1, `${receipt}000000`],
  ]
  const seen = rows.map((row) => [BigInt(row.segment_id), row.ordinal, row.event_time])
  assert.deepEqual(seen, expected)
  assert(rows.every((row) => row.ingested_at === receipt))
  assert.equal(rows[0]?.shape, rows[2]?.shape)
  assert.equal(rows[0]?.shape, rows[5]?.shape)
  assert.notEqual(rows[0]?.shape, rows[1]?.shape)
  const shapes = batches[0]!.segments[0]!.delta.shapes.map(({ shape }) => BigInt(`0x${shape}`))
  assert.deepEqual([...new Set(rows.slice(0, 3).map((row) => BigInt(row.shape)))], shapes)
})

test('a batch of more than SEGMENT_EVENTS_MAX events is several blocks that join', async () => {
  const stream = harness.newStream()
  const lines = Array.from({ length: SEGMENT_EVENTS_MAX + 3 }, (_, i) => `{"i":${i}}`)
  const ids = await harness.insertLines(stream, lines)
  assert.equal(ids.length, 2)
  const columns = 'toUInt32(payload.i.:Int64) AS i'
  const rows = await harness.select<{ i: number }>(stream, columns)
  assert.deepEqual(
    rows.map(({ i }) => i),
    lines.map((_, i) => i),
  )
})

test('typed subcolumns and toJSONString answer as for rows that the engine parsed', async () => {
  const stream = harness.newStream()
  const line = '{"a":{"b":1,"s":"x"},"f":1.5,"arr":[{"k":1},{"k":2}],"l":[1,2],"t":true}'
  await harness.insertLines(stream, [line])
  const columns = `payload.a.b.:Int64 AS b, payload.a.s AS s, payload.f.:Float64 AS f,
    payload.arr[].k.:Int64 AS k, payload.l.:\`Array(Nullable(Int64))\` AS l, payload.t.:Bool AS t,
    payload.^a AS a, toJSONString(payload) AS text,
    toJSONString('${line}'::JSON(max_dynamic_paths=1024)) AS parsed`
  const [row] = await harness.select<Record<string, unknown>>(stream, columns)
  const { text, parsed, ...values } = row!
  assert.deepEqual(values, {
    b: '1',
    s: 'x',
    f: 1.5,
    k: ['1', '2'],
    l: ['1', '2'],
    t: true,
    a: { b: '1', s: 'x' },
  })
  assert.equal(text, parsed)
})

test('random documents are stored as the model says', async () => {
  const stream = harness.newStream()
  const documents = fc.array(documentTree, { minLength: 1, maxLength: 8 })
  const property = fc.asyncProperty(documents, (trees) => assertStored(trees, stream))
  await fc.assert(property, fuzzed(seed, 1_000, 1_300))
})

test('one pipeline encodes batch after batch as a fresh one would', () => {
  const pipeline = new IngestPipeline()
  const property = fc.property(fc.array(documentTree, { minLength: 1, maxLength: 6 }), (trees) => {
    const text = trees.map(render).join('\n')
    const [own] = pipeline.run(batchOf(text)).segments
    const [fresh] = new IngestPipeline().run(batchOf(text)).segments
    assert.deepEqual(Buffer.from(own!.block.bytes), Buffer.from(fresh!.block.bytes))
    assert.deepEqual(Buffer.from(own!.payload), Buffer.from(fresh!.payload))
  })
  fc.assert(property, fuzzed(seed, 200, 1_300))
})

test('the payload column is byte for byte what the engine writes itself', async () => {
  // The engine sorts paths by name and we do not; here they come sorted.
  const lines = [
    '{"a":1,"b":"x","c":[1.5,null],"d":[{"k":1},{"k":"s"}]}',
    '{"a":"s"}',
    '{"b":"y","d":[{}],"e":true}',
  ]
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  const values = lines.map((line, i) => `(${i}, '${line}')`).join(',')
  const theirs = await harness.native(
    `SELECT CAST(text, 'JSON(max_dynamic_paths=1024)') AS payload
       FROM values('n UInt8, text String', ${values}) ORDER BY n FORMAT Native
       SETTINGS output_format_native_use_flattened_dynamic_and_json_serialization = 1`,
  )
  const ours = Buffer.from(segment!.block.bytes)
  // Behind the column's name stands its type, which the engine writes without defaults.
  const from = ours.indexOf('\x1cJSON(max_dynamic_paths=1024)') + 1 + 0x1c
  const theirFrom = theirs.indexOf('\x04JSON') + 1 + 4
  assert.equal(ours.toString('hex', from), theirs.toString('hex', theirFrom))
})
