/**
 * Goal: what is looked for around matches is bounded, and it is told where a bound was met or where
 * the service could not say all.
 * Method: a search whose service is made up.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Invocation } from '../../src/cli/command.ts'
import { search } from '../../src/cli/search.ts'

const TIME = '2026-01-31T12:00:00.000Z'
const times = `"ingested_at":"${TIME}","event_time":"${TIME}"`
const record = (n: number) => `{"id":"3766022851778314240-${n}",${times},"payload":{"n":${n}}}`

async function searchAround(matches: number, reason: string | null) {
  const asked: { readonly limit: number; readonly from: string; readonly to: string }[] = []
  const [lines, notes]: [string[], string[]] = [[], []]
  const newestFirst = Array.from({ length: matches }, (_, index) => record(2 * (matches - index)))
  const client = {
    listStreams: () => Promise.resolve([{ id: '1', name: 'web' }]),
    call: () => Promise.resolve(new Response(newestFirst.join('\n'))),
    text: (_path: string, { body }: { readonly body: (typeof asked)[number] }) => {
      asked.push(body)
      return Promise.resolve(JSON.stringify({ events: [], reason }))
    },
  }
  const terminal = {
    note: (text: string) => notes.push(text),
    json: (text: string) => lines.push(text),
  }
  const values = { json: true, context: '3' }
  const asking = { client, terminal, positionals: ['web'], values }
  assert.equal(await search.run(asking as unknown as Invocation), 0)
  return { asked, lines, notes }
}

test('a hundred matches have events around them, the newest ones', async () => {
  const { asked, lines, notes } = await searchAround(103, null)
  assert.equal(lines.length, 103)
  assert.equal(asked.length, 200, 'before and after each of a hundred')
  assert.deepEqual(new Set(asked.map(({ limit }) => limit)), new Set([4, 3]))
  for (const { from, to } of asked)
    assert.equal(Date.parse(to) - Date.parse(from) <= 86_400_001, true)
  assert.deepEqual(notes.slice(1), ['the newest 100 matches have events around them, others none'])
  assert.equal((await searchAround(100, null)).notes.length, 1)
})

test('where not all that is around could be found, it is told once', async () => {
  const { notes } = await searchAround(5, 'the time was over')
  assert.deepEqual(notes.slice(1), ['not all that is around matches: the time was over'])
})
