/**
 * Goal: labels as text are read as Go wrote them; what is no such text is told with the place.
 * Method: literal cases, by what strconv.Quote writes and strconv.Unquote refuses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLabelText } from '../../../workers/decode/loki/label-text.ts'
import { Pairs } from '../../../workers/decode/loki/pairs.ts'

const pairs = new Pairs()

function read(text: string): (readonly [string, string])[] | string {
  const bytes = Buffer.from(`xx${text}`)
  const fault = readLabelText(bytes, 2, bytes.length, pairs)
  if (fault !== undefined) return fault
  const slice = (start: number, end: number) => pairs.text.bytes.toString('utf8', start, end)
  return Array.from({ length: pairs.count }, (_, i) => [
    slice(pairs.nameStart(i), pairs.nameEnd(i)),
    slice(pairs.valueStart(i), pairs.valueEnd(i)),
  ])
}

test('labels', () => {
  const cases: readonly (readonly [text: string, labels: (readonly [string, string])[]])[] = [
    ['', []],
    ['{}', []],
    [' { } ', []],
    ['{a="b"}', [['a', 'b']]],
    [
      '{a="b", c_1="d",}',
      [
        ['a', 'b'],
        ['c_1', 'd'],
      ],
    ],
    [
      "{ a = 'it\"s' ,\n b=`\\n` }",
      [
        ['a', 'it"s'],
        ['b', '\\n'],
      ],
    ],
    ['{"http.method"="GET"}', [['http.method', 'GET']]],
    ['{a="\\"\\\\\\a\\b\\f\\n\\r\\t\\v"}', [['a', '"\\\u0007\b\f\n\r\t\v']]],
    ['{a="\\xc3\\xa9\\u00e9\\U0001f389\\303\\251é"}', [['a', 'éé🎉éé']]],
    ["{a='\\''}", [['a', "'"]]],
    ['{a="{b=\\"c\\"}, "}', [['a', '{b="c"}, ']]],
    [
      '{a="1",a="2"}',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
  ]
  for (const [text, labels] of cases) assert.deepEqual(read(text), labels, text)
})

test('no labels', () => {
  const cases: readonly (readonly [text: string, fault: string, at: number])[] = [
    ['a="b"', "no '{'", 0],
    ['{', 'no name', 1],
    ['{1a="b"}', 'no name', 1],
    ['{a}', "no '='", 2],
    ['{a=b}', 'no quoted value', 3],
    ['{a=}', 'no quoted value', 3],
    ['{a="b', 'no quoted value', 5],
    ['{a="b\nc"}', 'no quoted value', 5],
    ['{a="\\q"}', 'no quoted value', 4],
    ['{a="\\\'"}', 'no quoted value', 4],
    ['{a="\\x4"}', 'no quoted value', 4],
    ['{a="\\400"}', 'no quoted value', 4],
    ['{a="\\08"}', 'no quoted value', 4],
    ['{a="\\ud800"}', 'no quoted value', 4],
    ['{a="\\U00110000"}', 'no quoted value', 4],
    ['{a="\\u12', 'no quoted value', 4],
    ['{a=~"b"}', 'no quoted value', 3],
    ['{a="b" c="d"}', "no ',' or '}'", 7],
    ['{a="b"', "no ',' or '}'", 6],
    ['{a="b"} x', "text behind '}'", 8],
    ['{,}', 'no name', 1],
  ]
  for (const [text, fault, at] of cases) {
    assert.equal(read(text), `labels are not {name="value", …}: ${fault} at byte ${at}`, text)
  }
})
