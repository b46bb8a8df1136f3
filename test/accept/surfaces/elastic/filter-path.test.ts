/**
 * Goal: `filter_path` leaves the same of a bulk reply as Elasticsearch does.
 * Method: the literal filters of real clients; and random patterns compared with a plain filter of
 * JSON values, through worker code and reply.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { COMPACT_REPLY } from '../../../../src/accept/surfaces/elastic/bulk-form.ts'
import {
  filterAnswer,
  parseFilterPath,
} from '../../../../src/accept/surfaces/elastic/filter-path.ts'
import { everyOperation, ITEM_ALL, ITEM_TYPE } from '../../../../src/model/batch/bulk-items.ts'
import { cpuNow } from '../../../support/cpu-time.ts'
import { fuzzed, testSeed } from '../../../support/fuzzing.ts'
import { runBulk, SEGMENT_ID } from './bulk-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const BODY = '{"create":{"_index":"x"}}\n{"a":1}\n{"index":{"_index":"x","_id":"i"}}\n{"b"\n'
const GOOD = '{"create":{}}\n{"a":1}\n'

function replyTo(body: string, filterPath: string): string {
  const filter = parseFilterPath(filterPath) ?? COMPACT_REPLY
  const { reply } = runBulk([Buffer.from(body)], { filter })
  return Buffer.from(reply).toString()
}

const REASON = "invalid JSON at byte 5 of the line: expected ':' after the key"
const ERROR = `"error":{"type":"document_parsing_exception","reason":"${REASON}"}`

for (const [client, filterPath, expected] of [
  [
    'Logstash',
    'errors,items.*.error,items.*.status',
    `{"errors":true,"items":[{"create":{"status":201}},{"index":{"status":400,${ERROR}}}]}`,
  ],
  [
    'the OTel exporter',
    'items.*._index,items.*.status,items.*.error.type,items.*.error.reason',
    '{"items":[{"create":{"_index":"x","status":201}},' +
      `{"index":{"_index":"x","status":400,${ERROR}}}]}`,
  ],
  ['who asks for errors only', 'items.*.error', `{"items":[{"index":{${ERROR}}}]}`],
  ['who counts', 'took', '{"took":3}'],
  [
    'who asks for an operation',
    'items.create._id',
    `{"items":[{"create":{"_id":"${SEGMENT_ID}-0"}}]}`,
  ],
  ['who leaves out', '-items', '{"took":3,"errors":true}'],
  [
    'who leaves out values',
    '-took,-items.*._*,-**.reason',
    '{"errors":true,"items":[{"create":{"result":"created","status":201}},' +
      '{"index":{"status":400,"error":{"type":"document_parsing_exception"}}}]}',
  ],
  [
    'who takes and leaves',
    'items.*.*,-items.*._*,-items.create',
    `{"items":[{"index":{"status":400,${ERROR}}}]}`,
  ],
  ['who asks for nothing there is', 'foo,items.index.nothing', '{}'],
] as const) {
  test(`filter_path of ${client}`, () => assert.equal(replyTo(BODY, filterPath), expected))
}

test('a list that becomes empty is left out', () => {
  assert.equal(replyTo(GOOD, 'errors,items.*.error'), '{"errors":false}')
  assert.equal(replyTo(GOOD, 'items.*.error'), '{}')
})

test('an empty filter is no filter; one that matches everything leaves everything', () => {
  for (const filterPath of ['', ',', ' , ']) assert.equal(parseFilterPath(filterPath), undefined)
  const all = parseFilterPath('*')
  assert.deepEqual(all?.items, everyOperation(ITEM_ALL))
  for (const filterPath of ['**', 'took,errors,items', 't*,*rr*rs,items.**', '-foo', ' * ']) {
    assert.deepEqual(parseFilterPath(filterPath), all, filterPath)
  }
})

test('items have types unless the client does not know types', () => {
  const filter = (known?: number) => parseFilterPath('items.*._*', known)?.items.create ?? 0
  assert.equal(filter() & ITEM_TYPE, ITEM_TYPE)
  assert.equal(filter(ITEM_ALL & ~ITEM_TYPE) & ITEM_TYPE, 0)
})

test('the answer to a single document is filtered by the same patterns', () => {
  const answer = { _index: 'x', _shards: { total: 1, failed: 0 }, result: 'created' }
  for (const [filterPath, expected] of [
    ['', answer],
    ['**', answer],
    ['result', { result: 'created' }],
    ['_shards', { _shards: { total: 1, failed: 0 } }],
    ['_shards.f*,_index', { _index: 'x', _shards: { failed: 0 } }],
    ['-_*', { result: 'created' }],
    ['**.total', { _shards: { total: 1 } }],
    ['nothing', {}],
  ] as const) {
    assert.deepEqual(filterAnswer(answer, filterPath), expected, filterPath)
    assert.deepEqual(filterPlainly(answer, filterPath), expected, filterPath)
  }
})

/** The rules of Elasticsearch's page on `filter_path`, as regular expressions over whole paths. */
function filterPlainly(reply: unknown, filterPath: string): unknown {
  const patterns = filterPath.split(',').filter((pattern) => pattern !== '')
  const expressions = (isExclude: boolean) =>
    patterns
      .filter((pattern) => pattern.startsWith('-') === isExclude)
      .map((pattern) => {
        const segments = pattern
          .replace(/^-/, '')
          .split('.')
          .map((segment) => {
            if (segment === '**') return '[^.]+(\\.[^.]+)*'
            return segment.replace(/\*/g, '[^.]*')
          })
        return new RegExp(`^${segments.join('\\.')}(\\..*)?$`)
      })
  const [includes, excludes] = [expressions(false), expressions(true)]
  const isLeft = (path: string) =>
    (includes.length === 0 || includes.some((each) => each.test(path))) &&
    !excludes.some((each) => each.test(path))
  const walk = (value: unknown, path: string): unknown => {
    if (value === null || typeof value !== 'object') return isLeft(path) ? value : undefined
    if (Array.isArray(value)) {
      const left = value.map((each) => walk(each, path)).filter((each) => each !== undefined)
      return left.length > 0 ? left : undefined
    }
    const entries = Object.entries(value)
      .map(([key, each]) => [key, walk(each, path === '' ? key : `${path}.${key}`)] as const)
      .filter(([, each]) => each !== undefined)
    return entries.length > 0 ? Object.fromEntries(entries) : undefined
  }
  return walk(reply, '') ?? {}
}

test('random patterns filter like a plain filter', () => {
  const full: unknown = JSON.parse(replyTo(BODY, '*'))
  const first = fc.constantFrom('items', 'took', 'errors', '*', '**', 'i*s', 'x', 'it*ms*')
  const second = fc.constantFrom('create', 'index', '*', '**', '*e', 'delete', 'c*e*')
  const third = fc.constantFrom(
    '_index',
    '_id',
    '_*',
    'status',
    '*',
    '**',
    'error',
    's*s',
    '_shards',
    '_type',
  )
  const fourth = fc.constantFrom('type', 'reason', '*', '**', '*e*')
  const path = fc.oneof(
    fc.tuple(first),
    fc.tuple(first, second),
    fc.tuple(first, second, third),
    fc.tuple(first, second, fc.constant('error'), fourth),
  )
  const pattern = fc.tuple(fc.constantFrom('', '', '-'), path).map(([sign, segments]) => {
    return `${sign}${segments.join('.')}`
  })
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 4 }), (patterns) => {
      const filterPath = patterns.join(',')
      const reply: unknown = JSON.parse(replyTo(BODY, filterPath))
      assert.deepEqual(reply, filterPlainly(full, filterPath), filterPath)
    }),
    fuzzed(seed, 2_000, 600),
  )
})

test('hostile patterns take little time', () => {
  const startedAt = cpuNow()
  const pattern = `items.${'*a'.repeat(2_000)}.${'**.'.repeat(500)}x`
  parseFilterPath([pattern, ...Array.from({ length: 2_000 }, () => '*a*b*c*d.*.**.**')].join(','))
  assert(cpuNow() - startedAt < 500)
})
