/** Goal: a proposal that is taken while one types on goes where it belongs, or nowhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carried } from '../../console/query/carried.ts'

/** `‸` is where the proposals' place begins, and where it ends. */
const TABLE = [
  ['‸serv‸', 'servi', 'service:'],
  ['‸serv‸', 'SERVI', 'service:'],
  ['a ‸serv‸ b', 'a servi b', 'a service: b'],
  ['a ‸serv‸ b', 'a ser b', 'a service: b'],
  ['‸serv‸', '', 'service:'],
  // Behind it, before it, something else, or something more.
  ['‸serv‸', 'serv ', undefined],
  ['‸serv‸', 'serv:', undefined],
  ['a ‸serv‸ b', 'a servi bc', undefined],
  ['a ‸serv‸ b', 'aa serv b', undefined],
  ['‸serv‸', 'serx', undefined],
  ['a ‸s‸', 'a', undefined],
] as const

for (const [marked, now, taken] of TABLE) {
  test(`${marked}, then ${now || 'nothing'}: ${taken ?? 'none fits'}`, () => {
    const before = marked.replaceAll('‸', '')
    const [start, end] = [marked.indexOf('‸'), marked.lastIndexOf('‸') - 1]
    const proposal = { label: 'service:', insert: 'service:', note: '', start, end }
    const [kept] = carried([proposal], before, now)
    const text = kept && now.slice(0, kept.start) + kept.insert + now.slice(kept.end)
    assert.equal(text, taken)
  })
}
