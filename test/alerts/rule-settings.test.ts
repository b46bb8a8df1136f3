/**
 * Goal: the rules that the documentation shows are rules.
 * Method: each body of the table in docs/alerts.md, read as one that is sent would be.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RULE_BODY, readRuleSettings } from '../../src/alerts/rule-settings.ts'
import { checkBody } from '../../src/api/check-value.ts'
import type { ReadMembers } from '../../src/read/read-request.ts'

const DOCS = new URL('../../../docs/alerts.md', import.meta.url)

test('rules of the documentation are taken', () => {
  const text = readFileSync(DOCS, 'utf8')
  const bodies = [...text.matchAll(/^\| [^|]+ \| `(\{.*\})` \|$/gm)].map(([, body]) => body!)
  assert.ok(bodies.length >= 10, `only ${bodies.length} rules`)
  for (const body of bodies) {
    const rule: object = { window: '5m', ...JSON.parse(body) }
    checkBody(RULE_BODY, rule)
    assert.doesNotThrow(() => readRuleSettings(rule as ReadMembers), body)
  }
})
