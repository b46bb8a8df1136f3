/** Goal: a page has what was asked for, or LIST_PAGE_BYTES_MAX; the next one goes on behind it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIST_READ_RECORDS, pageInTurns } from '../../src/api/page-in-turns.ts'
import { LIST_PAGE_BYTES_MAX } from '../../src/limits.ts'

/** Pages until there is none, of records of which each has so many characters. */
async function pages(count: number, limit: number, chars: number) {
  const reads: number[] = []
  const found: number[] = []
  const sizes: number[] = []
  let cursor = 0
  for (;;) {
    const { text, last } = await pageInTurns<number>({
      limit,
      read: async (after, most) => {
        reads.push(most)
        const from = (after ?? cursor) + 1
        const left = Math.max(0, Math.min(most, count - from + 1))
        return Array.from({ length: left }, (_, at) => from + at)
      },
      write: (record) => String(record).padStart(chars, ' '),
    })
    const page = text === '' ? [] : text.split(',').map(Number)
    found.push(...page)
    sizes.push(page.length)
    assert.ok(page.length <= limit && (page.length < 2 || text.length <= LIST_PAGE_BYTES_MAX * 1.1))
    if (last === undefined) return { found, sizes, reads }
    assert.equal(last, page.at(-1))
    cursor = last
  }
}

test('small records: pages of the limit, read LIST_READ_RECORDS at a time', async () => {
  const { found, sizes, reads } = await pages(250, 240, 10)
  assert.deepEqual(
    found,
    Array.from({ length: 250 }, (_, at) => at + 1),
  )
  assert.deepEqual(sizes, [240, 10])
  assert.deepEqual(Math.max(...reads), LIST_READ_RECORDS + 1)
  assert.deepEqual((await pages(0, 10, 1)).sizes, [0])
  assert.deepEqual((await pages(10, 10, 1)).sizes, [10])
})

test('large ones: fewer, none left out, one at least', async () => {
  const large = await pages(50, 1_000, LIST_PAGE_BYTES_MAX / 8)
  assert.deepEqual(
    large.found,
    Array.from({ length: 50 }, (_, at) => at + 1),
  )
  assert.deepEqual(large.sizes, [8, 8, 8, 8, 8, 8, 2])
  assert.deepEqual((await pages(3, 10, LIST_PAGE_BYTES_MAX + 1)).sizes, [1, 1, 1])
})
