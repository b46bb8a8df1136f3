/**
 * Goal: what products really send is understood.
 * Method: lines in their shapes, with the fields that are expected, written by hand
 * (`vendor-lines.txt`).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventOf } from './decode-syslog.ts'
import { readVendorLines } from './vendor-lines.ts'

const lines = readVendorLines()

function textAt(event: Record<string, unknown>, path: string): string | undefined {
  let value: unknown = event
  for (const name of path.split('>')) value = (value as Record<string, unknown> | undefined)?.[name]
  return value === undefined ? undefined : String(value).replaceAll(' ', '_')
}

for (const vendor of new Set(lines.map((line) => line.vendor))) {
  test(`lines of ${vendor}`, () => {
    for (const { text, expected } of lines.filter((line) => line.vendor === vendor)) {
      const event = eventOf(text, { peer: '10.9.8.7' })
      for (const [path, value] of expected) {
        assert.equal(textAt(event, path), value?.replaceAll(' ', '_'), `${path} of ${text}`)
      }
    }
  })
}

test('there are many of them', () => {
  assert.ok(lines.length >= 500, `${lines.length} lines`)
  assert.ok(lines.filter(({ expected }) => expected.length > 0).length >= 250)
})
