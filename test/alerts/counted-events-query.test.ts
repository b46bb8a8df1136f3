/** Goal: the query of a group finds its events and no other: whatever its values and names are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedEventsQuery, countedStream } from '../../src/alerts/counted-events-query.ts'
import { parse } from '../../src/language/parse.ts'

const asked = (query: string, groupBy: readonly string[], counts?: string) => ({
  query,
  group_by: groupBy,
  aggregate: { fn: 'count', ...(counts !== undefined && { query: counts }) },
})

test('a group is asked for by its values, quoted as the language wants it', () => {
  const cases: [query: string, by: readonly string[], group: string, expected: string][] = [
    ['', [], '[]', ''],
    ['level:error', [], '[]', 'level:error'],
    ['level:error', ['service'], '["cart"]', 'level:error AND service="cart"'],
    ['a OR b', ['service'], '["a b"]', '(a OR b) AND service="a b"'],
    ['', ['status'], '[200]', 'status:[200 TO 200]'],
    ['', ['status'], '["200"]', 'status="200"'],
    ['', ['ok', 'x'], '[true,null]', 'ok=true AND NOT x:*'],
    ['', ['id'], '[9223372036854775807]', 'id:[9223372036854775807 TO 9223372036854775807]'],
    ['', ['_level', '`_level`'], '["error","error"]', '_level:error AND `_level`="error"'],
    ['', ['odd name'], '["a\\"b*"]', '`odd name`="a\\"b*"'],
    ['x', ['_stream', 'y'], '["7","z"]', 'x AND y="z"'],
  ]
  for (const [query, by, group, expected] of cases) {
    const written = countedEventsQuery(asked(query, by), group)
    assert.equal(written, expected)
    parse(written)
  }
  assert.equal(
    countedEventsQuery(asked('a', [], 'b'), undefined),
    'a AND b',
    'what the figure counts',
  )
  assert.equal(countedStream(asked('', ['x', '_stream']), '["a","7"]'), '7')
  assert.equal(countedStream(asked('', ['x']), '["a"]'), undefined)
})

test('where no query finds exactly these there is none', () => {
  assert.equal(countedEventsQuery(asked('', ['tags']), '[["a","b"]]'), undefined)
  assert.equal(
    countedEventsQuery(asked('', ['long']), JSON.stringify(['x'.repeat(2_000)])),
    undefined,
  )
  assert.equal(countedEventsQuery(asked('level:(', []), '[]'), undefined)
})
