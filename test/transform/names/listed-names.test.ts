/**
 * Goal: names that are values are found by the kernel wherever the walk of an event's text, which
 * the preview is, would find them; and what programs say of arguments and pairs is redacted.
 * Method: the names of the table, both kinds, in pairs and lists in several spellings, through the
 * transforms and through the preview.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spellEscaped } from '../../../bench/redaction/measure-values.ts'
import { previewEvent } from '../../../workers/redaction-preview.ts'
import { someOf } from '../../support/fuzzing.ts'
import { REDACT, Worker } from '../transform-harness.ts'
import { LOOK_ALIKE_NAMES, SECRET_NAMES } from './name-table.ts'

const VALUE = 'Zq7.x4-Kw9'
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toLowerCase(),
  (name) => name.toUpperCase(),
  (name) => name.replaceAll('_', '-'),
  (name) => `${name}_2`,
  (name) => `x.${name}`,
  (name) => `ключ_${name}`,
]
const PLACES: readonly ((name: string, spell: (text: string) => string) => string)[] = [
  (name, spell) => `{"l":[{"name":"${spell(name)}","value":"${VALUE}"}]}`,
  (name, spell) => `{"value":"${VALUE}","x":1,"key":"${spell(name)}"}`,
  (name, spell) => `{"l":["a","${spell(`--${name}`)}","${VALUE}"]}`,
  (name, spell) => `{"l":["${spell(`${name}=${VALUE}`)}","b"]}`,
  (name, spell) => `{"l":["${spell(`--set=a=b,${name}=${VALUE}`)}"]}`,
  (name, spell) => `{"l":[["${spell(name)}","${VALUE}"],["a","b"]]}`,
  (name, spell) => `{"rawHeaders":["Host","a","${spell(name)}","${VALUE}"]}`,
]

test('the kernel passes over no name that the walk of the text finds', () => {
  const places = someOf(PLACES)
  const lines = [...SECRET_NAMES, ...LOOK_ALIKE_NAMES].flatMap((name, i) => {
    const spelled = SPELLINGS[i % SPELLINGS.length]!(name)
    return places.flatMap((place) => [place(spelled, String), place(spelled, spellEscaped)])
  })
  const { texts } = new Worker().run(lines, REDACT)
  for (const [i, line] of lines.entries()) {
    assert.equal(texts[i], previewEvent(Buffer.from(line), [])!.redacted, line)
  }
  assert(texts.filter((text) => !text.includes(VALUE)).length > lines.length / 4)
})

test('a pair whose value is met after its name was, in a later event and batch', () => {
  const worker = new Worker()
  const [name, pair] = ['{"name":"DB_PASSWORD"}', '{"name":"DB_PASSWORD","value":"x"}']
  const redacted = '{"name":"DB_PASSWORD","value":"[REDACTED]"}'
  assert.deepEqual(worker.run([name], REDACT).texts, [name])
  assert.deepEqual(worker.run([name, pair, pair], REDACT).texts, [name, redacted, redacted])
})
