/**
 * Goal: a private key whose lines are events of their own leaves none of them, and ordinary lines
 * beside it stay. Method: keys of all kinds, drawn, as text lines in the midst of others.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { redactLines } from '../../../bench/redaction/redact-lines.ts'
import { testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()
const random = new Random(seed)
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const DASHES = '-'.repeat(5)
const REDACTED = '[REDACTED]'

function draw(length: number): string {
  return Array.from({ length }, () => BASE64[random.below(64)]).join('')
}

function keyOf(label: string, width: number, headers: readonly string[] = []): string[] {
  const body = Array.from({ length: 1 + random.below(30) }, () => draw(width))
  const last = `${draw(1 + random.below(width - 2))}=`
  const name = `${label}PRIVATE KEY${DASHES}`
  return [`${DASHES}BEGIN ${name}`, ...headers, ...body, last, `${DASHES}END ${name}`]
}

function redact(messages: readonly string[]): string[] {
  const lines = messages.map((message) => JSON.stringify({ message, n: 1 }))
  return redactLines(lines).map((line) => JSON.parse(line).message)
}

test('the lines of a key go, those beside it stay', (t) => {
  t.diagnostic(`seed ${seed}`)
  const headers = ['Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-256-CBC,0123456789ABCDEF']
  for (let i = 0; i < 50; i++) {
    for (const key of [keyOf('', 64), keyOf('RSA ', 64, headers), keyOf('OPENSSH ', 70)]) {
      const [before, after] = [
        ['started', draw(64)],
        ['done', 'ok', draw(64)],
      ]
      const lines = key.slice(0, -1).map(() => REDACTED)
      const expected = [...before, ...lines, key.at(-1), ...after]
      assert.deepEqual(redact([...before, ...key, ...after]), expected)
    }
  }
})

test('a key that was cut off ends where other lines begin', () => {
  const key = keyOf('EC ', 64).slice(0, -2)
  const after = ['done', draw(20), 'x']
  assert.deepEqual(redact([...key, ...after]), [...key.map(() => REDACTED), ...after])
  const certificate = [`${DASHES}BEGIN CERTIFICATE${DASHES}`, draw(64), draw(64)]
  assert.deepEqual(redact(certificate), certificate)
})

test('a whole key in one event takes nothing behind it', () => {
  const key = keyOf('', 64)
  const after = [draw(64), 'x']
  assert.deepEqual(redact([key.join('\n'), ...after]), [REDACTED, ...after])
})
