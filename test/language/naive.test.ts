/**
 * Goal: the reference for differential tests follows docs/language.md.
 * Method: the table there, line by line, with events that match a query and events that do not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { type NaiveEvent, naiveMatches } from './naive.ts'

const NS_PER_MS = 1_000_000n
const at = (text: string) => BigInt(Date.parse(text)) * NS_PER_MS

function eventOf(json: string): NaiveEvent {
  const level = /"level":"(\w+)"/.exec(json)?.[1]
  return {
    json,
    id: '3706387219251200000-17',
    ingestedAtNs: at('2026-01-01T00:00:01Z'),
    eventTimeNs: at('2026-01-01T00:00:00Z'),
    shape: '00000000deadbeef',
    level,
    service: 'web',
  }
}

type Case = readonly [query: string, yes: readonly string[], no: readonly string[]]

function assertCases(cases: readonly Case[]): void {
  for (const [query, yes, no] of cases) {
    const tree = parse(query)
    for (const json of yes)
      assert.ok(naiveMatches(tree, eventOf(json), ['msg']), `${query} ${json}`)
    for (const json of no)
      assert.ok(!naiveMatches(tree, eventOf(json), ['msg']), `${query} ${json}`)
  }
}

test('values', () => {
  assertCases([
    ['', ['{}'], []],
    [
      'f:x',
      ['{"f":"x"}', '{"f":["y","x"]}', '{"f":"y","f":"x"}'],
      ['{"f":"X"}', '{"f":"x","f":1}'],
    ],
    [
      'f:200',
      ['{"f":200}', '{"f":2e2}', '{"f":"200"}', '{"f":[200,"a"]}'],
      ['{"f":"200.0"}', '{}'],
    ],
    ['f:"200"', ['{"f":"200"}', '{"f":[200,"a"]}'], ['{"f":200}', '{"f":[200]}']],
    ['f:true', ['{"f":true}', '{"f":"true"}'], ['{"f":false}', '{"f":1}']],
    ['f!=x', ['{}', '{"f":1}', '{"f":"y"}'], ['{"f":"x"}', '{"f":["x","y"]}']],
    ['f:a*', ['{"f":"ab"}', '{"f":"a\\n"}'], ['{"f":"Ab"}', '{"f":"ba"}']],
    ['f:a?c', ['{"f":"a😀c"}'], ['{"f":"ac"}', '{"f":"abbc"}']],
    ['f:/b.?$/', ['{"f":"ab\\n"}'], ['{"f":"abc\\n"}', '{"f":"Ab12"}']],
    ['f:9007199254740993', ['{"f":9007199254740993}'], ['{"f":9007199254740992}']],
    ['f:9007199254740993', [], ['{"f":9007199254740993.0}', '{"f":[9007199254740993,0.5]}']],
    ['f:*', ['{"f":[]}', '{"f":[null]}', '{"f":""}'], ['{"f":null}', '{"f":{}}', '{"f":{"a":1}}']],
    ['a.b:1', ['{"a.b":1}', '{"a":{"b":1}}', '{"a.b":2,"a":{"b":1}}'], ['{"a":[{"b":1}]}']],
  ])
})

test('ranges', () => {
  assertCases([
    [
      'f:>5',
      ['{"f":5.1}', '{"f":[1,6]}', '{"f":1e400}'],
      ['{"f":5}', '{"f":"6"}', '{"f":[6,"a"]}'],
    ],
    ['f:[1 TO 5}', ['{"f":1}', '{"f":4.9}'], ['{"f":5}', '{"f":0}']],
    ['f:>"5"', ['{"f":"6"}', '{"f":"é"}'], ['{"f":6}', '{"f":"5"}', '{"f":"10"}']],
    [
      'f:>2026-01-01T00:00:00Z',
      ['{"f":"2026-01-01T00:00:00.000000001Z"}', '{"f":"2025-12-31T23:59:59-01:00"}'],
      ['{"f":"2026-01-01T00:00:00Z"}', '{"f":"2027"}', '{"f":9e30}'],
    ],
  ])
})

test('words on text fields', () => {
  assertCases([
    [
      'timed',
      ['{"msg":"Timed out"}', '{"msg":[1,"timed"]}'],
      ['{"msg":"untimed"}', '{"msg":"","x":"timed"}'],
    ],
    // All strings of an event that has no string in a text field.
    ['timed', ['{"x":"Timed"}', '{"x":{"y":["timed"]}}', '{"l":[{"m":"timed"}]}'], ['{"x":1}']],
    ['timed', ['{"x":"timed","msg":1}', '{"x":"timed","msg":["a"]}'], ['{"timed":"x"}']],
    ['timed', ['{"a":{"MSG":"timed"}}'], ['{"a":{"MSG":"x"},"b":"timed"}']],
    ['x:Timed', ['{"x":"Timed"}'], ['{"x":"timed"}', '{"x":"Timed out"}']],
    ['l[].Msg:timed', ['{"l":[{"Msg":"Timed out"}]}'], ['{"l":[{"m":"Timed out"}]}']],
    [
      'timeout',
      ['{"msg":"请求timeout，重试3次"}', '{"msg":"“timeout”"}', '{"msg":"retry—timeout→end"}'],
      ['{"msg":"étimeout"}'],
    ],
    [
      'db01',
      ['{"msg":"ERROR：连接db01失败"}', '{"msg":"\\u00a0db01\\ufeff"}'],
      ['{"msg":"db011"}'],
    ],
    ['debug', ['{"msg":"\\u001b[32mDEBUG\\u001b[0m"}', '{"msg":"\\u001b(Bdebug"}'], []],
    ['32m', [], ['{"msg":"\\u001b[32mDEBUG\\u001b[0m"}']],
    ['deb*', ['{"msg":"\\u001b[32mDEBUG\\u001b[0m"}', '{"msg":"请求debug"}'], ['{"msg":"édebug"}']],
    ['29', ['{"msg":"orders_29"}', '{"msg":"10.0.29.1"}', '{"msg":"⚠\\ufe0f29"}'], []],
    ['失败', ['{"msg":"ERROR：连接db01失败"}'], []],
    ['timed-out', ['{"msg":"was TIMED_OUT!"}'], ['{"msg":"out timed"}', '{"msg":"timed x out"}']],
    ['200', ['{"msg":200}', '{"msg":"code 200"}'], ['{"msg":"2000"}']],
    ['msg=timed', ['{"msg":"timed"}'], ['{"msg":"timed out"}']],
    ['東京', ['{"msg":"大東京都"}'], ['{"msg":"東"}']],
    ['msg:""', ['{"msg":""}'], ['{"msg":" "}']],
    ['tim*', ['{"msg":"x timed out"}', '{"msg":"tim"}'], ['{"msg":"untimed"}']],
    ['t?med', ['{"msg":"TIMED!"}', '{"msg":"(t.med)"}'], ['{"msg":"timeds"}']],
    ['x*z', ['{"msg":"a x-y-z b"}'], ['{"msg":"x y z"}', '{"msg":"xz1"}']],
    ['msg[]:timed', ['{"msg":["timed"]}', '{"msg":["Timed out"]}'], ['{"msg":"timed"}']],
  ])
})

test('arrays and paths below', () => {
  assertCases([
    [
      'i[].p:>4',
      ['{"i":[{"p":1},{"p":5}]}'],
      ['{"i":[{"p":4}]}', '{"i":[{"p":5},1]}', '{"i":{"p":5}}'],
    ],
    ['i[]:{a:1 b:2}', ['{"i":[{"a":1,"b":2}]}'], ['{"i":[{"a":1},{"b":2}]}']],
    ['i[]:{NOT a:1}', ['{"i":[{"a":1},{}]}'], ['{"i":[{"a":1}]}', '{"i":[2]}', '{"i":[]}']],
    ['t[]:*', ['{"t":[1,null]}'], ['{"t":[null]}', '{"t":1}', '{"t":[{"a":1}]}']],
    [
      'h.*:1',
      ['{"h":{"a":{"b":1}}}', '{"h.a":1}', '{"h":{"i":[{"p":1}]}}'],
      ['{"h":1}', '{"hh":{"a":1}}'],
    ],
    ['*:timed', ['{"a":{"b":"timed"}}', '{"msg":"Timed out"}'], ['{"a":"timed out"}']],
    ['a[][]:1', [], ['{"a":[[1]]}', '{"a":[{"":[1]}]}']],
  ])
})

test('system fields', () => {
  assertCases([
    ['_id:3706387219251200000-17', ['{}'], []],
    ['_id:3706387219251200000-017', [], ['{}']],
    ['_level:>=warn', ['{"level":"warn"}', '{"level":"fatal"}'], ['{"level":"info"}', '{}']],
    ['_level:*', ['{"level":"info"}'], ['{}']],
    ['_event_time:2026-01-01T01:00:00+01:00', ['{}'], []],
    ['_ingested_at:<=2026-01-01T00:00:01Z', ['{}'], []],
    ['_shape:00000000DEADBEEF', ['{}'], []],
    ['_service:w*', ['{}'], []],
    ['`_id`:1', ['{"_id":1}'], ['{}']],
    [
      '_trace_id:AB',
      ['{"trace_id":"ab"}', '{"traceId":"AB"}', '{"trace":{"id":["x","ab"]}}'],
      ['{"trace_id":"abc"}', '{"span_id":"ab"}'],
    ],
    [
      '_span_id:*',
      ['{"SpanId":"a"}', '{"dd":{"span_id":"7"}}'],
      ['{"spanId":""}', '{"span_id":5}'],
    ],
  ])
})
