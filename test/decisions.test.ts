/**
 * Goal: the index of decisions says what the pages say.
 * Method: each page's title and `Status:` line beside its row of `docs/decisions/README.md`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSourceFiles } from './source-files.ts'

const FOLDER = 'docs/decisions/'
const STATUS = /^(accepted(, amended by \d+((, \d+)* and \d+)?)?|superseded by \d+)$/

interface Decision {
  readonly number: string
  readonly title: string
  readonly file: string
  readonly status: string
}

const files = readSourceFiles().filter(({ path }) => path.startsWith(FOLDER))
const pages = files
  .filter(({ path }) => path !== `${FOLDER}README.md`)
  .map(({ path, text }) => readPage(path.slice(FOLDER.length), text))
  .toSorted((a, b) => a.file.localeCompare(b.file))
const index = files.find(({ path }) => path === `${FOLDER}README.md`)!.text

function readPage(file: string, text: string): Decision {
  const [title, blank, status] = text.split('\n')
  const [, number, name] = /^# (\d+)\. (.+)$/.exec(title!) ?? []
  const [, words] = /^Status: (.+?)\.(?: .*)?$/.exec(status ?? '') ?? []
  assert.ok(number && name && blank === '' && words, `${file}: title, blank line, Status: line`)
  const linked = [...words.matchAll(/\[decision (\d+)\]\((\d{4})-[\w-]+\.md\)/g)]
  for (const [link, said, target] of linked) assert.equal(Number(said), Number(target), link)
  const bare = words.replaceAll(/\[decision (\d+)\]\([\w-]+\.md\)/g, '$1')
  return { number, title: name, file, status: bare }
}

test('each decision is in the index, with its title and its status, and none else', () => {
  const rows = [...index.matchAll(/^\| (\d+) \| \[(.+?)\]\(([\w-]+\.md)\) \| (.+?) \| (.+?) \|$/gm)]
  const listed = rows.map(([, number, title, file, , status]) => ({ number, title, file, status }))
  assert.deepEqual(listed, pages)
  assert.equal(index.split('\n').filter((line) => /^\| \D*\d/.test(line)).length, pages.length)
})

test('a file begins with the number of its decision, and no number is used twice', () => {
  for (const { number, file } of pages)
    assert.equal(file.slice(0, 5), `${number.padStart(4, '0')}-`)
  assert.equal(new Set(pages.map(({ number }) => number)).size, pages.length)
})

test('a status is one of the known ones and names later decisions that exist', () => {
  for (const { file, number, status } of pages) {
    assert.match(status, STATUS, file)
    for (const [by] of status.matchAll(/\d+/g)) {
      assert.ok(Number(by) > Number(number), `${file}: ${status}`)
      assert.ok(
        pages.some((page) => page.number === by),
        `${file}: ${status}`,
      )
    }
  }
})
