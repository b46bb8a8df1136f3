import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCredential, sha256, tryParseCredential } from '../../src/model/credential.ts'

test('a created credential parses back and its secret hashes to what is stored', () => {
  for (const kind of ['key', 'token'] as const) {
    const created = createCredential(kind)
    const tag = kind === 'key' ? 'lax' : 'lap'
    assert.match(created.text, new RegExp(`^${tag}_[a-z0-9]{8}_[A-Za-z0-9]{40}$`))
    const parsed = tryParseCredential(created.text)
    assert.equal(parsed?.kind, kind)
    assert.equal(parsed?.prefix, created.prefix)
    assert.deepEqual(sha256(parsed?.secret ?? ''), created.secretSha256)
  }
})

test('no character of a secret is likelier than another', () => {
  const counts = new Map<string, number>()
  const secrets = 2_000
  for (let i = 0; i < secrets; i++) {
    for (const char of createCredential('key').text.slice(13)) {
      counts.set(char, (counts.get(char) ?? 0) + 1)
    }
  }
  const expected = (secrets * 40) / 62
  assert.equal(counts.size, 62)
  // Six standard deviations: modulo bias of 256 % 62 would put eight letters 25 % over.
  for (const [char, count] of counts) {
    assert.ok(Math.abs(count - expected) < 6 * Math.sqrt(expected), `${char}: ${count}`)
  }
})

test('what does not have the format is no credential', () => {
  const good = `lax_${'a'.repeat(8)}_${'B'.repeat(40)}`
  assert.ok(tryParseCredential(good))
  const bad = ['', 'lax', good.slice(1), `${good}x`, good.replace('lax', 'lay'), ` ${good}`]
  const upper = good.replace('aaaaaaaa', 'aaaaaaaA')
  for (const text of [...bad, upper, good.replace('B', '_'), `${good.slice(0, -1)}\n`]) {
    assert.equal(tryParseCredential(text), undefined, text)
  }
})
