/**
 * Goal: redaction does what its rules say and nothing else, however an event is spelled.
 * Method: tables of rules; random events against the plain model in `redaction-model.ts`, spelled
 * with and without escapes and white space; the harness holds the tape to the text.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Random } from '../../../bench/random.ts'
import { spellEscaped, spellPlain } from '../../../bench/redaction/measure-values.ts'
import { drawSecret } from '../../../bench/redaction/sets.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { REDACT, transformed, Worker } from '../transform-harness.ts'
import {
  isObject,
  readTree,
  redactTree,
  type Tree,
  type TreeObject,
  writeTree,
} from './redaction-model.ts'

const seed = testSeed()
const random = new Random(seed)
const SECRET = drawSecret(random, 'github')
const JWT = drawSecret(random, 'jwt')

const LOG_TWICE = '{"log":"{\\"pwd\\":\\"p\\"}","log":"{\\"pwd\\":\\"q\\"}"}'
const LOG_TWICE_REDACTED = '{"log":null,"log":{"pwd":"[REDACTED]","_raw":null}}'

const RULES: readonly (readonly [name: string, before: string, after: string])[] = [
  ['strings', '{"password":"x","a":1}', '{"password":"[REDACTED]","a":1}'],
  ['other types', '{"pin":12,"otp":true,"cvv":1.5}', '{"pin":null,"otp":null,"cvv":null}'],
  ['null stays', '{"token":null,"_raw":"t"}', '{"token":null,"_raw":"t"}'],
  ['empty string', '{"token":""}', '{"token":"[REDACTED]"}'],
  ['object', '{"a":{"secret":{"x":[1,{"y":2}]}},"b":2}', '{"a":{"secret":null},"b":2}'],
  ['empty object', '{"secret":{},"b":2}', '{"secret":null,"b":2}'],
  ['array', '{"cookie":["a","b"],"b":[1]}', '{"cookie":null,"b":[1]}'],
  ['spelling', '{"Api-Key":"x","API_KEY":"y"}', '{"Api-Key":"[REDACTED]","API_KEY":"[REDACTED]"}'],
  ['escaped key', '{"p\\u0061ssword":"x"}', '{"p\\u0061ssword":"[REDACTED]"}'],
  ['dots', '{"user.password":"x"}', '{"user.password":"[REDACTED]"}'],
  ['segments', '{"token_count":1,"author":"x"}', '{"token_count":1,"author":"x"}'],
  ['in arrays', '{"a":[{"ssn":1},{"ssn":"2"}]}', '{"a":[{"ssn":null},{"ssn":"[REDACTED]"}]}'],
  ['white space', '{ "password" : "x" , "a" : [ ] }', '{ "password" : "[REDACTED]" , "a" : [ ] }'],
  ['duplicates', '{"pwd":"x","pwd":1,"a":2,"a":3}', '{"pwd":"[REDACTED]","pwd":null,"a":2,"a":3}'],
  ['overruled', `{"a":"${SECRET}","a":{"b":1}}`, '{"a":"[REDACTED]","a":{"b":1}}'],
  ['overruled deep', `{"a":{"b":["${SECRET}"]},"a":3}`, '{"a":{"b":["[REDACTED]"]},"a":3}'],
  ['in a string', `{"m":"use ${SECRET}."}`, '{"m":"[REDACTED]"}'],
  ['in an array', `{"m":["a","${JWT}",1]}`, '{"m":["a","[REDACTED]",1]}'],
  ['key that looks like one', `{"${SECRET}":1}`, `{"${SECRET}":1}`],
  ['listed', '{"user":{"email":"e"},"email":"f"}', '{"user":{"email":"[REDACTED]"},"email":"f"}'],
  ['listed, dotted', '{"user.email":"e"}', '{"user.email":"[REDACTED]"}'],
  ['listed, in arrays', '{"rows":[[{"ip":"1"}]]}', '{"rows":[[{"ip":"[REDACTED]"}]]}'],
  ['listed object', '{"user":{"email":{"a":1}}}', '{"user":{"email":null}}'],
  ['not from the root', '{"x":{"user":{"email":"e"}}}', '{"x":{"user":{"email":"e"}}}'],
  [
    'raw beside',
    '{"_raw":"t","pwd":"x","_svc_raw":{"a":1}}',
    '{"_raw":null,"pwd":"[REDACTED]","_svc_raw":null}',
  ],
  ['raw above', '{"_raw":"t","a":[{"pwd":1}]}', '{"_raw":null,"a":[{"pwd":null}]}'],
  ['raw below stays', '{"pwd":"x","a":{"_raw":"t"}}', '{"pwd":"[REDACTED]","a":{"_raw":"t"}}'],
  [
    'raw of others stays',
    '{"a":{"_raw":"t"},"b":{"pwd":1}}',
    '{"a":{"_raw":"t"},"b":{"pwd":null}}',
  ],
  ['raw array', `{"_raw":["${SECRET}","b"],"_svc_raw":"t"}`, '{"_raw":null,"_svc_raw":null}'],
  ['log overruled', '{"log":"{\\"pwd\\":1}","log":"x"}', '{"log":null,"log":"x"}'],
  ['log overruled, harmless', '{"log":"a","log":"x"}', '{"log":"a","log":"x"}'],
  ['log overruled by its like', LOG_TWICE, LOG_TWICE_REDACTED],
  ['log that is broken', '{"log":"{\\"pwd\\":1"}', '{"log":"{\\"pwd\\":null"}'],
  ['raw alone', `{"_raw":"${SECRET}","a":1}`, '{"_raw":"[REDACTED]","a":1}'],
  ['raw of both', `{"_raw":"${SECRET}","_svc_raw":"t"}`, '{"_raw":"[REDACTED]","_svc_raw":null}'],
  ['raw with a secret inside', '{"_raw":{"pwd":1,"b":2},"c":3}', '{"_raw":null,"c":3}'],
  ['raw of the same place', '{"a":{"_raw":"t"},"a.pwd":1}', '{"a":{"_raw":null},"a.pwd":null}'],
  [
    'raw of it behind',
    '{"a.b":{"pwd":1},"a":{"_raw":"t"}}',
    '{"a.b":{"pwd":null},"a":{"_raw":null}}',
  ],
  [
    'raw of it below',
    '{"a":{"b":{"_raw":"t"}},"a.b.c":[{"pwd":1}],"d":{"_raw":"t"}}',
    '{"a":{"b":{"_raw":null}},"a.b.c":[{"pwd":null}],"d":{"_raw":"t"}}',
  ],
  ['raw of duplicates', '{"a":{"_raw":"t"},"a":{"pwd":1}}', '{"a":{"_raw":null},"a":{"pwd":null}}'],
  [
    'raw of another element',
    '{"a":[{"_raw":"t"},{"b":1,"pwd":1}]}',
    '{"a":[{"_raw":"t"},{"b":1,"pwd":null}]}',
  ],
  [
    'last words',
    '{"DB_PASS":"x","userPassword":1}',
    '{"DB_PASS":"[REDACTED]","userPassword":null}',
  ],
  ['flags', '{"my_password":true,"a_secret":"none"}', '{"my_password":true,"a_secret":"none"}'],
  ['number of tokens', '{"tokens":512,"x_tokens":"99"}', '{"tokens":512,"x_tokens":"99"}'],
  ['weak names', '{"auth":"basic","sid":"S-1-5-18"}', '{"auth":"basic","sid":"S-1-5-18"}'],
  ['weak in arrays', '{"auth":[["k3y/9-x"],"a"]}', '{"auth":[["[REDACTED]"],"a"]}'],
  ['object by last words', '{"my_password":{"a":1},"b":1}', '{"my_password":null,"b":1}'],
  [
    'of an object',
    '{"api":{"key":"x"},"my":{"key":"x"}}',
    '{"api":{"key":"[REDACTED]"},"my":{"key":"x"}}',
  ],
  [
    'of plurals',
    '{"tokens":{"access":"e1.f2-g3","count":3},"cookies":[{"name":"a","value":"b"}]}',
    '{"tokens":{"access":"[REDACTED]","count":3},"cookies":[{"name":"a","value":"[REDACTED]"}]}',
  ],
  [
    'pairs',
    '{"l":[{"name":"Cookie","value":"x"},{"value":"y","name":"DB_PASS"},{"name":"a","v":1}]}',
    '{"l":[{"name":"Cookie","value":"[REDACTED]"},{"value":"[REDACTED]","name":"DB_PASS"},' +
      '{"name":"a","v":1}]}',
  ],
  [
    'pairs of attributes',
    '{"l":[{"key":"api_key","value":{"stringValue":"x"}},{"key":"n","value":{"stringValue":"x"}}]}',
    '{"l":[{"key":"api_key","value":null},{"key":"n","value":{"stringValue":"x"}}]}',
  ],
  [
    'pairs of metrics',
    '{"l":[{"name":"bad_token","value":7}]}',
    '{"l":[{"name":"bad_token","value":7}]}',
  ],
  [
    'a name without value',
    '{"l":[{"name":"password","id":"x"}]}',
    '{"l":[{"name":"password","id":"x"}]}',
  ],
  [
    'header pairs',
    '{"l":[["Cookie","a=b"],["Accept","c"]]}',
    '{"l":[["Cookie","[REDACTED]"],["Accept","c"]]}',
  ],
  [
    'header list',
    '{"rawHeaders":["Host","a","Authorization","x y","Cookie","b"]}',
    '{"rawHeaders":["Host","a","Authorization","[REDACTED]","Cookie","[REDACTED]"]}',
  ],
  [
    'names of fields',
    '{"l":[["username","password"],["a","b"]]}',
    '{"l":[["username","password"],["a","b"]]}',
  ],
  [
    'arguments',
    '{"l":["-v","--db-password","x","y"]}',
    '{"l":["-v","--db-password","[REDACTED]","y"]}',
  ],
  ['flags only', '{"l":["--password","--verbose"]}', '{"l":["--password","--verbose"]}'],
  ['assignments', '{"l":["A=b","DB_PASSWORD=x"]}', '{"l":["A=b","[REDACTED]"]}'],
  ['assignments of flags', '{"l":["--set=a=b,auth.token=x"]}', '{"l":["[REDACTED]"]}'],
  [
    'assignments of none',
    '{"l":["max_tokens=5","token=","x==","a?token=x"]}',
    '{"l":["max_tokens=5","token=","x==","a?token=x"]}',
  ],
]

for (const [name, before, after] of RULES) {
  test(`rule: ${name}`, () => {
    const settings = { ...REDACT, redactFields: ['user.email', 'rows.ip'] }
    assert.equal(transformed(before, settings), after)
  })
}

test('with redaction off nothing is changed, and no byte is written', () => {
  const line = `{"password":"x","m":"${SECRET}"}`
  const { texts, bytesWritten } = new Worker().run([line], { ...REDACT, redactSensitive: false })
  assert.deepEqual({ texts, bytesWritten }, { texts: [line], bytesWritten: 0 })
})

test('only events with hits are written anew', () => {
  const worker = new Worker()
  const plain = ['{"a":"plain"}', '{"b":[1]}']
  assert.equal(worker.run(plain, REDACT).bytesWritten, 0)
  const { texts, bytesWritten } = worker.run([...plain, '{"pin":1}'], REDACT)
  assert.deepEqual(texts, [...plain, '{"pin":null}'])
  assert.equal(bytesWritten, '{"pin":null}\n'.length)
})

// Few distinct keys, so that objects have duplicates, denylisted and raw keys near each other.
const key = fc.constantFrom(
  'a',
  'b',
  'password',
  'Api-Key',
  'x.token',
  'user',
  'email',
  '_raw',
  '_svc_raw',
  'a.b',
  'a._raw',
  'my_password',
  'smtp_pass',
  'auth',
  'name',
  'header',
  'value',
  'headers',
)
const secretValue = fc.constantFrom(SECRET, `see ${JWT}`, `x/${SECRET}/y`)
// Too short for what only a weak name says, and no flag.
const short = fc.string({ maxLength: 4 }).map((value) => `§${value}`)
const named = fc.constantFrom(
  'my_password',
  'smtp_pass',
  'auth',
  '--my_password',
  '--auth',
  'a',
  'x=1',
  'my_password=§',
  '--auth=b7.c8.d9',
  'smtp_pass=',
  'true',
  'b7.c8.d9',
)
const text = fc.oneof(
  { weight: 3, arbitrary: short },
  { weight: 3, arbitrary: named },
  { weight: 1, arbitrary: secretValue },
)
const { tree } = fc.letrec<{ tree: Tree; object: TreeObject }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('tree'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map((members) => ({ members })),
}))
const event = tree.filter(isObject)
const rules = {
  redactFields: ['user.email', 'a.b', 'b'],
  isSecret: (value: string) => value.includes(SECRET) || value.includes(JWT),
  names: new Map([
    ['my_password', 'secret'],
    ['smtp_pass', 'string'],
    ['auth', 'weak'],
  ] as const),
  flags: new Set(['', 'true']),
}
const settings = { ...REDACT, redactFields: rules.redactFields }

test('events come out as the model says, in any spelling, and are then left alone', (t) => {
  t.diagnostic(`seed ${seed}`)
  const worker = new Worker()
  const spellings = [spellPlain, spellEscaped]
  const batch = fc.array(event, { minLength: 1, maxLength: 6 })
  const gap = fc.constantFrom('', ' ', '\t ')
  fc.assert(
    fc.property(batch, gap, fc.nat(1), (trees, space, spelling) => {
      const spell = spellings[spelling]!
      const lines = trees.map((each) => writeTree(each, spell, space))
      const { texts } = worker.run(lines, settings)
      const expected = trees.map((each) => redactTree(each, rules))
      assert.deepEqual(texts.map(readTree), expected)
      for (const [i, line] of lines.entries()) {
        // Where nothing was to be done, not a byte is.
        const isSame = writeTree(expected[i]!, spell) === writeTree(trees[i]!, spell)
        if (isSame) assert.equal(texts[i], line)
        else assert.doesNotThrow(() => JSON.parse(texts[i]!))
      }
      assert.deepEqual(worker.run(texts, settings).texts, texts)
    }),
    fuzzed(seed, 1_000, 3_000),
  )
})

test('an event is redacted the same whatever its batch holds', () => {
  const line = `{"a":"${SECRET}","b":{"token":{"c":1}},"_raw":"t"}`
  const alone = transformed(line, REDACT)
  const others = ['{"x":1}', '{"password":1}', '{"log":"{\\"token\\":1}"}', '{"y":"a@b"}']
  for (let at = 0; at <= others.length; at++) {
    const lines = others.toSpliced(at, 0, line)
    assert.equal(new Worker().run(lines, REDACT).texts[at], alone)
  }
})

test('an event nested to DEPTH_MAX, with a redacted value at its bottom', () => {
  const deep = (inner: string) => `${'{"a":'.repeat(255)}${inner}${'}'.repeat(255)}`
  assert.equal(transformed(deep('{"pin":7}'), REDACT), deep('{"pin":null}'))
  const lists = (inner: string) => `{"a":${'['.repeat(254)}${inner}${']'.repeat(254)}}`
  assert.equal(transformed(lists('{"pin":7}'), REDACT), lists('{"pin":null}'))
})
