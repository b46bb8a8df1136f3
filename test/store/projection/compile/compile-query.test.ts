/**
 * Goal: what a query becomes reads no more columns than it must, and is bounded.
 * Method: the text of conditions, with their parameters in place. That they mean the right thing is
 * for the differential test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { LETTER_CLASS } from '../../../../src/language/words.ts'
import { QUERY_CONDITIONS_MAX, QUERY_PATHS_MAX, SERVICE_BYTES_MAX } from '../../../../src/limits.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { anyFields, learnedFields } from '../../../../src/store/projection/compile/branch-fields.ts'
import { compileQuery } from '../../../../src/store/projection/compile/compile-query.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { separatedSql, unescapedSql } from '../../../../src/store/projection/text-index.ts'
import { learnedCatalog, unknownCatalog } from './test-catalog.ts'

const STREAM = 1 as StreamId
const CATALOG = learnedCatalog(STREAM, ['message'], {
  n: { scalars: ['Int64', 'UInt64'] },
  id: { scalars: ['String'] },
  message: { scalars: ['String'] },
  tags: { elements: ['String'] },
  items: { hasObjects: true },
  'items[].a': { scalars: ['Int64'] },
})

/** The condition with its parameters in place, in quotes. */
function compiled(text: string, catalog = CATALOG): string {
  const params = new SqlParams()
  const sql = compileQuery(parse(text), learnedFields(catalog), params)
  return sql.replace(/\{(p[0-9]+):[^}]*\}/g, (_, name: string) => {
    return JSON.stringify(params.values[name], (_key, value: unknown) => {
      return typeof value === 'bigint' ? String(value) : value
    })
  })
}

/** Without how a word's edge and white space are spelled. */
function shortened(sql: string): string {
  return sql
    .replaceAll(JSON.stringify(`[^${LETTER_CLASS}]`).slice(1, -1), 'W')
    .replaceAll('[^ \\\\t\\\\n\\\\f\\\\r]', '[^ ]')
}

const MESSAGE = 'payload.`message`.:String'
const SEPARATED = separatedSql(MESSAGE, JSON.stringify)
const UNESCAPED = unescapedSql(MESSAGE, JSON.stringify)

test('words are searched in all strings of rows whose shape has no text', () => {
  const strings = { scalars: ['String'] as const }
  const types = { message: strings, host: strings, 'l[].s': strings }
  const catalog = learnedCatalog(STREAM, ['message'], types)
  const textless = { shapes: [7n, 8n], doubtful: [], paths: [['host'], ['l', 's']] }
  const inText = `hasAllTokens(${SEPARATED}, ["web"])`
  const inStrings =
    `arrayExists(x -> hasAllTokens(${separatedSql('x', JSON.stringify)}, ["web"]), ` +
    'arrayConcat([payload.`host`.:String], ' +
    'payload.`l`.:`Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))`.`s`.:String))'
  assert.equal(
    compiled('web', { ...catalog, textless }),
    `(${inText} OR (shape IN (["7","8"]) AND ${inStrings}))`,
  )
  const doubtful = { ...textless, doubtful: ['message'] }
  assert.equal(
    compiled('web', { ...catalog, textless: doubtful }),
    `(${inText} OR (isNull(${MESSAGE}) AND shape IN (["7","8"]) AND ${inStrings}))`,
  )
})

test('types that a path cannot have are not read', () => {
  const cases = [
    ['', 'true'],
    ['n:5', 'payload.`n`.:Int64 = "5"'],
    ['n:x', 'false'],
    ['n:>1.5', '(payload.`n`.:Int64 >= "2" OR isNotNull(payload.`n`.:UInt64))'],
    ['id:a', 'payload.`id`.:String = "a"'],
    ['unknown:a', 'false'],
    ['NOT unknown:a', 'true'],
    ['id:a unknown:b', 'false'],
    ['id:a OR unknown:b', 'payload.`id`.:String = "a"'],
    ['tags:a', 'has(payload.`tags`.:`Array(Nullable(String))`, "a")'],
    ['NOT id:a', '(NOT ifNull(payload.`id`.:String = "a", false))'],
    ['id:*', 'isNotNull(payload.`id`)'],
    ['timeout', `hasAllTokens(${SEPARATED}, ["timeout"])`],
    ['“timed—out”', `hasPhrase(${SEPARATED}, "timed out")`],
    ['_service:cart', 'service = "cart"'],
    ['n:<5', 'payload.`n`.:Int64 <= "4"'],
    ['n:>18446744073709551615', 'false'],
    ['*art*', 'positionCaseInsensitive(payload.`message`.:String, "art") > 0'],
    ['*ärt*', 'position(lowerUTF8(payload.`message`.:String), "ärt") > 0'],
    [
      '*time*',
      '(positionCaseInsensitive(payload.`message`.:String, "time") > 0 OR ' +
        '(multiSearchAny(payload.`message`.:String, ["\u0130"]) AND ' +
        'position(lowerUTF8(payload.`message`.:String), "time") > 0))',
    ],
    ['ti*ut', `match(${UNESCAPED}, "(?:^|W)ti[^ ]*ut(?:$|W)")`],
    ['time*', `match(${UNESCAPED}, "(?:^|W)time")`],
    ['东time*', `match(${UNESCAPED}, "东time")`],
    ['/é?x/', 'match(payload.`message`.:String, "(?i-i:é?x)")'],
  ] as const
  for (const [text, expected] of cases) assert.equal(shortened(compiled(text)), expected, text)
})

const SERVICE_IS_CART = `((context = '' AND service = "cart") OR substring(context, 25) = "cart")`

test('the one field that names services is read from their column', () => {
  const strings = { scalars: ['String'] as const }
  const one = learnedCatalog(STREAM, ['message'], { app: strings, service: { scalars: ['Bool'] } })
  const two = learnedCatalog(STREAM, ['message'], { app: strings, 'service.name': strings })
  const upper = learnedCatalog(STREAM, ['message'], {
    APP: strings,
    Service: { scalars: ['Bool'] },
  })
  const twoCases = learnedCatalog(STREAM, ['message'], { app: strings, aPP: strings })
  const kelvin = learnedCatalog(STREAM, ['message'], { 'log.syslog.appname\u212a': strings })
  const text = learnedCatalog(STREAM, ['app'], { app: strings })
  const long = 'x'.repeat(SERVICE_BYTES_MAX + 1)
  const cases = [
    ['app:cart', one, SERVICE_IS_CART],
    ['NOT app:cart', one, `(NOT ifNull(${SERVICE_IS_CART}, false))`],
    ['app:""', one, 'payload.`app`.:String = ""'],
    [`app:${long}`, one, `payload.\`app\`.:String = "${long}"`],
    ['app:*', one, 'isNotNull(payload.`app`)'],
    ['app:cart', two, 'payload.`app`.:String = "cart"'],
    ['APP:cart', upper, SERVICE_IS_CART],
    ['app:cart', upper, 'false'],
    ['app:cart', twoCases, 'payload.`app`.:String = "cart"'],
    ['aPP:cart', twoCases, 'payload.`aPP`.:String = "cart"'],
    [
      'log.syslog.appname\u212a:x',
      kelvin,
      'payload.`log.syslog.appname\\xe2\\x84\\xaa`.:String = "x"',
    ],
    ['app=cart', text, 'payload.`app`.:String = "cart"'],
  ] as const
  for (const [query, catalog, expected] of cases) {
    assert.equal(compiled(query, catalog), expected, query)
  }
})

test('a path of which nothing is known is read with all types', () => {
  const params = new SqlParams()
  const fields = anyFields(unknownCatalog(STREAM, []))
  const sql = compileQuery(parse('f:5'), fields, params)
  assert.equal(sql.split(' OR ').length, 6, sql)
})

test('equal values share a parameter', () => {
  const params = new SqlParams()
  compileQuery(parse('a:x b:x c:y'), anyFields(unknownCatalog(STREAM, [])), params)
  assert.deepEqual(Object.values(params.values), ['x', 'y'])
})

test(`a field that stands for over ${QUERY_PATHS_MAX} others is refused with their names`, () => {
  const types = (count: number) => {
    return Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`http.f${n}`, { scalars: ['String'] as const }]),
    )
  }
  assert.match(compiled('http.*:x', learnedCatalog(STREAM, [], types(QUERY_PATHS_MAX))), /f63/)
  const more = learnedCatalog(STREAM, [], types(QUERY_PATHS_MAX + 1))
  assert.throws(() => compiled('a:b http.*:x', more), {
    name: 'QueryError',
    message: /^column 5: .*QUERY_PATHS_MAX.*http\.f0, http\.f1/,
  })
  assert.doesNotThrow(() => compiled('http.f1.*:x', more))
})

test(`over ${QUERY_CONDITIONS_MAX} conditions are refused`, () => {
  const paths = Array.from({ length: QUERY_PATHS_MAX }, (_, n) => [`f${n}`])
  const fields = anyFields(unknownCatalog(STREAM, [], paths))
  const words = Array.from({ length: 21 }, (_, n) => `*:w${n}`)
  assert.throws(() => compileQuery(parse(words.join(' ')), fields, new SqlParams()), {
    name: 'QueryError',
    message: /QUERY_CONDITIONS_MAX/,
  })
})
