/**
 * Goal: a folder is small enough to look through, and its README says what lives there.
 * Method: the list of files of the checkout, and the files that each README names.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readSourceFiles } from './source-files.ts'

const FOLDER_FILES_MAX = 25
/** A list that only grows and is read by its index. */
const LONG_FOLDERS = ['docs/decisions']
const README_LINES_MAX = 14
/** The manual of all benches. */
const LONG_READMES = ['bench/README.md']

const files = readSourceFiles()
const paths = new Set(files.map(({ path }) => path))
const folders = new Map<string, string[]>()
for (const path of paths) {
  const folder = dirname(path)
  folders.set(folder, [...(folders.get(folder) ?? []), path])
}

/** Tests and benches of a folder lie under the folder's own path, and need no README. */
function isMirror(folder: string): boolean {
  const [top, ...rest] = folder.split('/')
  if ((top !== 'test' && top !== 'bench') || rest.length === 0) return false
  const source = rest.join('/')
  return (
    ['src', 'workers', '.'].some((root) => folders.has(join(root, source))) || source === 'workers'
  )
}

/** The console's folders: its README tells them all, a line each would only repeat their names. */
function isScreen(folder: string): boolean {
  return folder.startsWith('console/')
}

test(`no folder has more than ${FOLDER_FILES_MAX} files beside its README`, () => {
  const full = [...folders]
    .map(([folder, list]) => [folder, list.filter((path) => !path.endsWith('/README.md')).length])
    .filter(([folder, count]) => Number(count) > FOLDER_FILES_MAX && folder !== '.')
    .filter(([folder]) => !LONG_FOLDERS.includes(String(folder)))
  assert.deepEqual(full, [])
})

test('each folder of code has a README, but for mirrors of other folders', () => {
  const without = [...folders.keys()].filter(
    (folder) =>
      /^(src|workers|kernels|console|bench|test)(\/|$)/.test(folder) &&
      !isMirror(folder) &&
      !isScreen(folder) &&
      !paths.has(`${folder}/README.md`),
  )
  assert.deepEqual(without, [])
})

const readmes = files.filter(({ path }) =>
  /^(src|workers|kernels|bench|test)\/(.*\/)?README\.md$/.test(path),
)

test(`a README of a folder has at most ${README_LINES_MAX} lines`, () => {
  const long = readmes.filter(
    ({ path, text }) =>
      text.trimEnd().split('\n').length > README_LINES_MAX && !LONG_READMES.includes(path),
  )
  assert.deepEqual(
    long.map(({ path }) => path),
    [],
  )
})

test('the files and folders that a README names are there', () => {
  const missing = readmes.flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)]
      .map(([, name]) => name!)
      .filter((name) => !isThere(join(dirname(path), name)) && !isThere(name))
      .map((name) => `${path} names ${name}`),
  )
  assert.deepEqual(missing, [])
})

function isThere(name: string): boolean {
  return paths.has(name) || folders.has(name.replace(/\/$/, ''))
}
