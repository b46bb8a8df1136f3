/** Random bulk bodies, good, broken and hostile, for tests of the decoder and of the framer. */
import fc from 'fast-check'

const action = fc.constantFrom(
  '{"index":{}}',
  '{"create":{}}',
  '{"create":{"_index":"logs"}}',
  '{"index":{"_index":"logs","_id":"a1"}}',
  '{"index":{"_index":"logs","_id":"a2"}}',
  ' { "create" : { "_id" : 7 , "_index" : null } } ',
  '{"index":{"op_type":"create","_type":"_doc","routing":null}}',
  '{"attempts":0,"index":{"_id":null},"other":[{"create":{}}]}',
  '{"update":{"_id":"u","retry_on_conflict":3}}',
  '{"delete":{"_id":"d"}}',
  '{"create":{"dynamic_templates":{"a.b":"c"},"_id":true}}',
)
const badAction = fc.constantFrom(
  '{"index":{"_id":{}}}',
  '{"create":{"_index":["x"],"_id":"e"}}',
  '{"index":{}',
  '{"index":{}}}',
  '{"create":{"_id":}}',
  '{"x":[,"create":{}}',
  '{"x":1,"create":{"a":tru}}',
  '{"delete":{,}}',
  '{"update":{"_id":"\\x"}}',
)
const document = fc.constantFrom(
  '{"a":1}',
  '{}',
  '{"message":"x,y]\\"\\\\","n":[1,{"b":null}]}',
  ' {"index":{"looks":"like an action"}} ',
  '{"delete":{}}',
  '{"doc":{"a":[1,{}],"b":"c"},"doc_as_upsert":true}',
  '{"doc_as_upsert":true,"doc":{}}',
  '{"script":"s","upsert":{"u":1}}',
  '{"scripted_upsert":true,"script":{"source":"s"}}',
  '{"doc":null,"upsert":{"a":[[]]}}',
  '{"doc":[1]}',
)
const garbage = fc.constantFrom(
  'x',
  '7',
  'null',
  '"index"',
  '{"a":',
  '[{"index":{}}]',
  '{"index":null}',
  '{"indexes":{}}',
  '{"a":"{\\"index\\":{}}"}',
  '}',
  '{"index',
  '{"a":{"index":{}}}',
  '{"doc":{"a":01}}',
)
const newLine = fc.constantFrom('\n', '\n', '\n', '\r\n', '\n\n', '\n \t\r\n')

const pair = fc.tuple(action, newLine, document, newLine)
const stray = fc.tuple(fc.oneof(action, badAction, document, garbage), newLine)
const broken = fc.tuple(badAction, newLine, fc.oneof(document, garbage), newLine)
const badDocument = fc.tuple(action, newLine, garbage, newLine)

/** One byte put in, taken out or changed. */
const edit = fc.tuple(
  fc.nat(),
  fc.constantFrom('cut', 'insert', 'replace'),
  fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '\n', ' ', '0', 'x'),
)

function withEdit(body: string, [where, kind, char]: [number, string, string]): string {
  const at = where % (body.length + 1)
  return (
    body.slice(0, at) + (kind === 'cut' ? '' : char) + body.slice(kind === 'insert' ? at : at + 1)
  )
}

/** Bodies of some lines; the last line may lack its newline, or be cut off in the middle. */
export const bulkBody: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(
      fc.oneof(
        { arbitrary: pair, weight: 6 },
        { arbitrary: stray, weight: 2 },
        { arbitrary: broken, weight: 1 },
        { arbitrary: badDocument, weight: 1 },
      ),
      { maxLength: 10 },
    ),
    fc.array(edit, { maxLength: 2 }),
    fc.nat(12),
  )
  .map(([lines, edits, cutOff]) => {
    const body = lines.flat().join('')
    const edited = edits.reduce(withEdit, body)
    return cutOff > 8 ? edited.slice(0, -cutOff) : edited
  })
